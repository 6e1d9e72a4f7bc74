// Names, ids and reasons come from models. They become text nodes and nothing else, and what a reader would not see, or
// what would turn the text around it, is written out.

// Control and format characters (those that set the direction of text among them), lone surrogates, separators of lines. A
// joiner before a pictograph is part of an emoji.
const UNSEEN = /(?!\u200d\p{Extended_Pictographic})[\p{C}\p{Zl}\p{Zp}]/gu;
const UNSEEN_BUT_LINES = /(?!\n|\u200d\p{Extended_Pictographic})[\p{C}\p{Zl}\p{Zp}]/gu;

const LONGEST = 200;
const LONGEST_TITLE = 4_000;

/** The start of a text from outside as plain text, for labels and titles. What cannot be seen is written out: `‹U+202E›`. */
export function inShort(text: string, longest = LONGEST): string {
  return cut(text, longest).replace(UNSEEN, nameOf);
}

/** A text from outside on one line: cut where it is very long, and then whole in its title. */
export function Said({ text, longest = LONGEST }: { readonly text: string; readonly longest?: number }) {
  return (
    <bdi class="said" title={inShort(text, LONGEST_TITLE)}>
      {pieces(cut(text, longest), UNSEEN)}
    </bdi>
  );
}

/** A text from outside with its lines, such as a message. */
export function SaidInLines({ text }: { readonly text: string }) {
  return (
    <p class="said-lines" dir="auto">
      {pieces(cut(text, LONGEST_TITLE), UNSEEN_BUT_LINES)}
    </p>
  );
}

function pieces(text: string, unseen: RegExp) {
  const parts = [];
  let from = 0;
  for (const { 0: character, index } of text.matchAll(unseen)) {
    parts.push(text.slice(from, index), <span class="unseen">{nameOf(character)}</span>);
    from = index + character.length;
  }
  return [...parts, text.slice(from)];
}

function nameOf(character: string): string {
  return `‹U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`;
}

function cut(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
