/** Tabs for keyboards, screen readers and pointers; their content can be replaced while they are in use. */
import { html } from '../page/dom.ts';
import { destroyEditors } from './listingView.ts';

export interface Tab {
  name: string;
  label: string;
  /** The key of the panel's content: the panel is built again only when it changes. */
  key: string;
  /** Builds the panel's content when it is opened for the first time. */
  make: () => HTMLElement;
}

interface Panel {
  key: string;
  element: HTMLElement;
  filled: boolean;
}

let made = 0;

export class Tabs {
  readonly element = html('div', { class: 'dsim-tabs' });
  private readonly id = `dsim-tabs-${made++}`;
  private readonly list = html('div', { class: 'dsim-tablist', role: 'tablist', 'aria-label': 'Report' });
  private readonly panels = new Map<string, Panel>();
  private tabs: Tab[] = [];
  private selected = '';
  /** Whether the user chose the tab: then a new report does not change it. */
  private chosen = false;

  constructor() {
    this.element.append(this.list);
    this.list.addEventListener('keydown', event => this.onKey(event));
  }

  /** Show these tabs, and open `open` unless the user has chosen another one. */
  update(tabs: Tab[], open: string): void {
    const names = tabs.map(tab => tab.name);
    if (names.join('\n') !== this.tabs.map(tab => tab.name).join('\n')) {
      this.list.replaceChildren(...tabs.map(tab => this.button(tab)));
    }
    this.tabs = tabs;
    const panels = tabs.map(tab => this.panel(tab));
    this.element.replaceChildren(this.list, ...panels);
    this.element.hidden = tabs.length === 0;
    this.list.hidden = tabs.length < 2;
    const stays = this.chosen && names.includes(this.selected);
    this.select(stays ? this.selected : names.includes(open) ? open : (names[0] ?? ''));
  }

  /** Dispose of the panels' content. */
  dispose(): void {
    destroyEditors(this.element);
    this.panels.clear();
  }

  private button({ name, label }: Tab): HTMLElement {
    const button = html(
      'button',
      {
        type: 'button',
        role: 'tab',
        id: `${this.id}-${name}`,
        'aria-controls': `${this.id}-${name}-panel`,
        'data-tab': name
      },
      label
    );
    button.addEventListener('click', () => this.choose(name));
    return button;
  }

  private panel({ name, key }: Tab): HTMLElement {
    let panel = this.panels.get(name);
    if (panel === undefined || panel.key !== key) {
      destroyEditors(panel?.element);
      const element = html('div', {
        class: `dsim-panel dsim-panel-${name}`,
        role: 'tabpanel',
        id: `${this.id}-${name}-panel`,
        'aria-labelledby': `${this.id}-${name}`,
        tabindex: 0
      });
      panel = { key, element, filled: false };
      this.panels.set(name, panel);
    }
    return panel.element;
  }

  private choose(name: string): void {
    this.chosen = true;
    this.select(name);
  }

  private select(name: string): void {
    this.selected = name;
    for (const button of this.list.querySelectorAll<HTMLElement>('[role=tab]')) {
      const on = button.dataset.tab === name;
      button.setAttribute('aria-selected', String(on));
      button.tabIndex = on ? 0 : -1;
    }
    for (const tab of this.tabs) {
      const panel = this.panels.get(tab.name);
      if (panel === undefined) {
        continue;
      }
      panel.element.hidden = tab.name !== name;
      if (tab.name === name && !panel.filled) {
        panel.filled = true;
        panel.element.replaceChildren(tab.make());
      }
    }
  }

  private onKey(event: KeyboardEvent): void {
    const index = this.tabs.findIndex(tab => tab.name === this.selected);
    const last = this.tabs.length - 1;
    const moves: Record<string, number> = {
      ArrowRight: index === last ? 0 : index + 1,
      ArrowLeft: index === 0 ? last : index - 1,
      Home: 0,
      End: last
    };
    const tab = this.tabs[moves[event.key] ?? -1];
    if (tab === undefined || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    event.preventDefault();
    this.choose(tab.name);
    this.list.querySelector<HTMLElement>('[aria-selected=true]')?.focus();
  }
}
