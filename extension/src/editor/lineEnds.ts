/** What stands at the end of a line in the editor: values and gradients, cut to the room that there is. */
import { WidgetType } from '@codemirror/view';
import { html } from '../page/dom.ts';
import { fits, fitted } from './fitting.ts';

/** The style sheet's margin and padding, in columns of the code; its letters are smaller than those. */
const AROUND = 5;
const LETTER = 0.9;

export class LineEnd extends WidgetType {
  private readonly text: string;
  private readonly shown: string;

  /**
   * Parameters are the whole text, what says the same in fewer numbers, and how many of the editor's columns the line
   * leaves for either.
   */
  constructor(text: string, brief: string, room: number) {
    super();
    this.text = text;
    const letters = (room - AROUND) / LETTER;
    this.shown = fits(text, letters) ? text : fitted(brief, letters);
  }

  override eq(other: LineEnd): boolean {
    return this.text === other.text && this.shown === other.shown;
  }

  override toDOM(): HTMLElement {
    return html('span', { class: 'dsim-eol', title: this.text }, this.shown);
  }

  /** A click on it sets the cursor, as a click on the empty space there does. */
  override ignoreEvent(): boolean {
    return false;
  }
}
