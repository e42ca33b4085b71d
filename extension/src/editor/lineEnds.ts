/** The widget at the end of a line in the editor: values and gradients, truncated to the available width. */
import { WidgetType } from '@codemirror/view';
import { html } from '../page/dom.ts';
import { fits, fitted } from './fitting.ts';

/** The style sheet's margin and padding in columns of the code, whose font is larger. */
const AROUND = 5;
const LETTER = 0.9;

export class LineEnd extends WidgetType {
  private readonly text: string;
  private readonly shown: string;

  /**
   * The parameters are the full text, a shorter equivalent, and the number of the editor's columns that the line
   * leaves free.
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
