/**
 * Which process a notebook's kernel is: reports that another one made, before a restart, follow no changes any more.
 *
 * The kernel's name stays the same when it is restarted; what changes is the session of its messages.
 */
import { sessionOf } from './cells.ts';
import type { Message, Session } from './cells.ts';

/** States of a kernel whose process is no more. The server says them in its name. */
export const ENDS = new Set(['restarting', 'autorestarting', 'terminating', 'dead']);

/** That there is no process; not to be known is another thing. */
const NONE = '';

class Process {
  /** The session of the process that runs; null as long as nobody has said it. */
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

  /** A page that was loaded again has heard nothing of the kernel yet. */
  private async ask(): Promise<void> {
    try {
      const reply = await this.session.session?.kernel?.requestKernelInfo();
      if (reply) {
        this.set(reply.header.session);
      }
    } catch {
      // The kernel has ended before it answered, and its status says so.
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

/** Hear now and from now on which process the kernel of an output's notebook is; returns how to stop. */
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
