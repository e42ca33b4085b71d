/**
 * Identifies the process of a notebook's kernel: reports of an earlier process, before a restart, are not updated.
 *
 * A restart keeps the kernel's id; the session of its messages changes.
 */
import { sessionOf } from './cells.ts';
import type { Message, Session } from './cells.ts';

/** States, reported by the server, of a kernel whose process has ended. */
export const ENDS = new Set(['restarting', 'autorestarting', 'terminating', 'dead']);

/** No process; an unknown one is null. */
const NONE = '';

class Process {
  /** The session of the running process; null while it is unknown. */
  current: string | null = null;
  readonly listeners = new Set<() => void>();
  private readonly session: Session;

  constructor(session: Session) {
    this.session = session;
    session.iopubMessage.connect((_, { header, content }: Message) => {
      if (!ENDS.has(content.execution_state ?? '')) {
        this.set(header.session);
      }
    });
    session.statusChanged.connect((_, status) => {
      if (ENDS.has(status)) {
        this.set(NONE);
      }
    });
    session.kernelChanged.connect((_, { oldValue }) => {
      if (oldValue !== null) {
        this.set(NONE);
      }
      void this.ask();
    });
    void this.ask();
  }

  /** Requests the session: a reloaded page has received no message of the kernel yet. */
  private async ask(): Promise<void> {
    try {
      const reply = await this.session.session?.kernel?.requestKernelInfo();
      if (reply) {
        this.set(reply.header.session);
      }
    } catch {
      // The kernel ended before it replied; its status reports that.
    }
  }

  private set(now: string): void {
    if (now !== this.current) {
      this.current = now;
      this.listeners.forEach(hear => hear());
    }
  }
}

const processes = new WeakMap<Session, Process>();

/** Subscribe to the process of the kernel of an output's notebook; returns a function that unsubscribes. */
export function followProcess(output: Element, hear: (current: string | null) => void): () => void {
  const session = sessionOf(output);
  if (session === undefined) {
    return () => undefined;
  }
  const process = processes.get(session) ?? new Process(session);
  processes.set(session, process);
  const listener = () => hear(process.current);
  process.listeners.add(listener);
  listener();
  return () => process.listeners.delete(listener);
}
