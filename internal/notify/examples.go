package notify

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// examples holds the receivers, and routes what precedes them: the routes, with KIND in place of the kind.
var (
	//go:embed examples/*.yml
	examples embed.FS
	//go:embed route.yml
	routes string
)

const steps = `#
# 1. Save this file, such as /etc/avax-exporter/notify.yml, and fill in what is marked CHANGE.
# 2. Write each secret into the file that is named for it, readable by the exporter only.
# 3. Set AVAX_NOTIFY_FILE to this file's path, run ` + "`avax-exporter notify test`" + `, then
#    start the exporter. It reloads the file when it changes.
`

// Kinds returns the kinds of receivers that have an example.
func Kinds() []string {
	entries, err := examples.ReadDir("examples")
	if err != nil {
		panic(err) // impossible: reading embedded files never fails
	}
	var kinds []string
	for _, e := range entries {
		kinds = append(kinds, strings.TrimSuffix(e.Name(), ".yml"))
	}
	return kinds
}

// Example returns a complete configuration for a kind of receiver, with comments.
func Example(kind string) ([]byte, error) {
	text, err := receiverExample(kind)
	if err != nil {
		return nil, err
	}
	before, after, _ := strings.Cut(strings.ReplaceAll(routes, "KIND", kind), "\nroute:")
	return []byte(before + steps + "\nroute:" + after + text), nil
}

func receiverExample(kind string) (string, error) {
	text, err := examples.ReadFile(path.Join("examples", kind+".yml"))
	if err != nil {
		return "", fmt.Errorf("no example for %q: choose one of %s", kind, strings.Join(Kinds(), ", "))
	}
	return string(text), nil
}

// Blank is a setting of an example that the operator must fill in.
type Blank struct {
	Name    string // such as bot_token, without _file
	Hint    string // where the value comes from
	Example string // of a value that is no secret
	Secret  bool
}

var blankLine = regexp.MustCompile(`(?m)^((?: *# .*\n)*)( *(?:- )?)([a-z_]+): (.*?) +# CHANGE\n`)

func blankOf(match []string) Blank {
	name, secret := strings.CutSuffix(match[3], "_file")
	b := Blank{Name: name, Secret: secret}
	if !secret {
		b.Example = match[4]
	}
	for line := range strings.Lines(match[1]) {
		b.Hint = strings.TrimSpace(b.Hint + " " + strings.TrimLeft(strings.TrimSpace(line), "# "))
	}
	return b
}

// Blanks returns the settings of an example to fill in.
func Blanks(kind string) (all []Blank, err error) {
	text, err := receiverExample(kind)
	for _, match := range blankLine.FindAllStringSubmatch(text, -1) {
		all = append(all, blankOf(match))
	}
	return all, err
}

// Filled returns the example of a kind with these values. Name_file in place of a secret's name keeps the secret in a file. An empty
// value removes the setting. Other settings are added. No error contains a value.
func Filled(kind string, values map[string]string) ([]byte, error) {
	text, err := receiverExample(kind)
	if err != nil {
		return nil, err
	}
	var errs []error
	var known []string
	text = blankLine.ReplaceAllStringFunc(text, func(line string) string {
		match := blankLine.FindStringSubmatch(line)
		b := blankOf(match)
		known = append(known, b.Name)
		name := b.Name
		value, given := values[name]
		if file, inFile := values[name+"_file"]; b.Secret && inFile {
			known = append(known, name+"_file")
			name, value, given = name+"_file", file, true
		}
		if !given {
			errs = append(errs, fmt.Errorf("%s is missing", b.Name))
		}
		if value == "" {
			return ""
		}
		if _, err := strconv.Atoi(b.Example); err != nil {
			value = strconv.QuoteToGraphic(value)
		} else if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			errs = append(errs, fmt.Errorf("%s: write a number such as %s", name, b.Example))
		}
		return match[1] + match[2] + name + ": " + value + "\n"
	})
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, name) { // another setting of the integration, such as api_url
			text += "        " + name + ": " + strconv.QuoteToGraphic(values[name]) + "\n"
		}
	}
	return []byte(strings.ReplaceAll(routes, "KIND", kind) + text), errors.Join(errs...)
}
