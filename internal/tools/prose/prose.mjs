// Checks the prose of the project with textlint: documents, the program's help, the annotations of alert
// rules and the names of their tests, the texts of dashboards, and the help of make. Runs in the root of the repository: node .tools/prose/prose.mjs

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { TextlintKernelDescriptor } from "@textlint/kernel";
import { moduleInterop } from "@textlint/module-interop";
import markdown from "@textlint/textlint-plugin-markdown";
import yaml from "js-yaml";
import { createLinter } from "textlint";
import prh from "textlint-rule-prh";
import { length, passives } from "./sentences.mjs";

const run = (file, ...args) => execFileSync(file, args, { encoding: "utf8" });
const files = (...patterns) => run("git", "ls-files", ...patterns).split("\n").filter(Boolean);

const words = fileURLToPath(new URL("words.yml", import.meta.url));
const linter = createLinter({
  descriptor: new TextlintKernelDescriptor({
    rules: [
      { ruleId: "words", rule: moduleInterop(prh), options: { rulePaths: [words], checkEmphasis: true, checkLink: true } },
      { ruleId: "length", rule: length, options: { max: 30 } },
      { ruleId: "passives", rule: passives, options: { max: 2 } },
    ],
    filterRules: [],
    plugins: [{ pluginId: "markdown", plugin: moduleInterop(markdown), options: true }],
  }),
});

let problems = 0;
const lint = async (text, place, counts = () => true) => {
  const messages = (await linter.lintText(text, "text.md")).messages.filter(counts);
  problems += messages.length;
  for (const { loc, message } of messages) console.log(`${place(loc.start)}: ${message}`);
};

// Lints many short texts at once: pairs of a place and a text.
const lintAll = async (texts, counts) => {
  const places = texts.flatMap(([place, text]) => [...text.split("\n").map(() => place), ""]);
  await lint(texts.map(([, text]) => text + "\n").join("\n"), ({ line }) => places[line - 1], counts);
};

for (const file of files("*.md", ":!**/testdata/**")) {
  await lint(readFileSync(file, "utf8"), ({ line, column }) => `${file}:${line}:${column}`);
}

// Each paragraph of the help is read as one, and each item of a list. docs/configuration.md has the variables.
const exporter = "bin/avax-exporter";
const commands = [...run(exporter, "help", "all").matchAll(/^  ([a-z]+)  /gm)].map(([, name]) => name);
const help = (...args) => run(exporter, "help", ...args).split(/\n(?=\n|  \S)/)
  .map((text) => [["avax-exporter help", ...args].join(" "), text.replace(/\s+/g, " ").trim()]);
await lintAll([[], ["all"], ...commands.map((name) => [name])].flatMap((args) => help(...args)));

// Of a choice in a template the first branch is read, and a value is one word.
const branch = /{{-?\s*else[^}]*}}(?:(?!{{-?\s*(?:if|with|range|end)\b).)*({{-?\s*end\s*-?}})/gs;
const spoken = (template) => template.replace(branch, "$1").replace(/{{-?\s*(if|with|range|end)\b[^}]*}}/g, "").replace(/{{[^}]*}}/g, "N");

const annotations = (file) =>
  yaml.load(readFileSync(file, "utf8")).groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert).flatMap(({ alert, labels, annotations }) =>
    ["summary", "description", "impact", "action"].filter((name) => annotations[name])
      .map((name) => [`${file}: ${alert} (${labels.severity}): ${name}`, spoken(annotations[name])]));
await lintAll(files("alerts/*.yml", ":!*_test.yml").flatMap(annotations));

const texts = (file, value, panel) =>
  Object.entries(value ?? {}).flatMap(([key, child]) =>
    typeof child === "object" ? texts(file, child, value.title ?? panel)
      : ["title", "description"].includes(key) && typeof child === "string" ? [[`${file}: ${value.title ?? panel}: ${key}`, child]] : []);
await lintAll(files("dashboards/*.json").flatMap((file) => texts(file, JSON.parse(readFileSync(file, "utf8")))));

// The name of a case lists its series, so only its words are checked.
await lintAll(files("alerts/*_test.yml", "alerts/testdata/*_test.yml").flatMap((file) =>
  yaml.load(readFileSync(file, "utf8")).tests.filter(({ name }) => name).map(({ name }) => [`${file}: ${name}`, name])), ({ ruleId }) => ruleId === "words");
await lintAll([...readFileSync("Makefile", "utf8").matchAll(/^([a-z-]+):.*## (.*)$/gm)].map(([, target, text]) => [`Makefile: ${target}`, text]));

if (problems > 0) {
  console.log(`${problems} problems in the prose: rewrite the sentences (rules: internal/tools/prose)`);
  process.exitCode = 1;
}
