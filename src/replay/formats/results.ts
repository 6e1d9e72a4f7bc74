import { fieldsOf, listOf } from '../json.ts';

/**
 * Whether the text of a result tells that the call failed, where the record has no field for that. These are the ways in
 * which tools and frameworks are seen to say it; a result that says it otherwise counts as a good one.
 */
export function saysFailed(content: unknown): boolean {
  const text = textOf(content);
  return FAILED_BEGINNINGS.some((beginning) => text.startsWith(beginning)) || text.endsWith('isError=True');
}

const FAILED_BEGINNINGS = ['Error', 'Tool call timed out.', 'An error occurred while running the tool.'];

/** The text of a message's content: a string, a block with a text, or blocks, of which those with a text count. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const blocks = Array.isArray(content) ? listOf(content) : [content];
  const texts = blocks.map((block) => fieldsOf<'text'>(block)?.text);
  return texts.filter((text) => typeof text === 'string').join('');
}

/** What a string holds as JSON; all that is no JSON as it is. Arguments are recorded so, as far as the model kept to it. */
export function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
