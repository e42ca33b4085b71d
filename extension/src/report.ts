/** The report: what `dsim/notebook` puts into an output, and how to read it without trusting it. */

export const REPORT_MIME = 'application/vnd.dsim.report+json';

export interface Report {
  /** What the report says, as plain text. */
  summary: string;
}

/**
 * The report in an output's data.
 *
 * A notebook can come from anywhere, and from any version of dsim: what is not as expected falls back to
 * the output's plain text, which every report carries beside it.
 */
export function readReport(data: Readonly<Record<string, unknown>>): Report {
  const report = data[REPORT_MIME];
  if (typeof report === 'object' && report !== null && 'summary' in report && typeof report.summary === 'string') {
    return { summary: report.summary };
  }
  return { summary: plainText(data['text/plain']) };
}

/** A notebook file holds text as one string or as a list of lines. */
function plainText(text: unknown): string {
  if (typeof text === 'string') {
    return text;
  }
  if (Array.isArray(text) && text.every(line => typeof line === 'string')) {
    return text.join('');
  }
  return 'This report was made by another version of dsim. Run the cell again.';
}
