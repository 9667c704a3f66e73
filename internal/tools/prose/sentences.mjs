// Rules of textlint about sentences, in paragraphs, list items and table cells.

import { splitAST, SentenceSplitterSyntax } from "sentence-splitter";
import { StringSource } from "textlint-util-to-string";

const inEverySentence = (context, check) => {
  const { Syntax, RuleError, report } = context;
  const visit = (node) => {
    for (const sentence of splitAST(node).children) {
      if (sentence.type !== SentenceSplitterSyntax.Sentence) continue;
      const problem = check(new StringSource(sentence).toString());
      if (problem) report(sentence, new RuleError(problem));
    }
  };
  return { [Syntax.Paragraph]: visit, [Syntax.TableCell]: visit };
};

// A word has a letter or a digit. What stands after a semicolon or in brackets counts too.
export const length = (context, { max }) =>
  inEverySentence(context, (text) => {
    const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
    return words > max && `${words} words in one sentence, ${max} allowed: split it`;
  });

const irregular = "built|done|drawn|found|given|held|kept|known|left|lost|made|met|paid|put|read|seen|sent|set|shown|spent|taken|told|written";
const passive = new RegExp(`\\b(?:is|are|was|were|be|been|being)\\s+(?:not\\s+|\\w+ly\\s+)?(?:\\w+ed|${irregular})\\b`, "gi");

export const passives = (context, { max }) =>
  inEverySentence(context, (text) => {
    const found = text.match(passive) ?? [];
    return found.length > max && `${found.length} passives in one sentence (${found.join(", ")}), ${max} allowed: say who does it`;
  });
