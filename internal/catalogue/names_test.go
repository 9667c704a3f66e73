package catalogue

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

var (
	seriesName   = regexp.MustCompile(`(?:^|[^a-zA-Z0-9_:./-])(avax[_:][a-zA-Z0-9_:]*(?:\([a-zA-Z0-9_|()]*\))?[a-zA-Z0-9_:]*)`)
	variableName = regexp.MustCompile(`(?:^|[^a-zA-Z0-9_])(AVAX_[A-Z0-9_]+)`)
	foreignName  = regexp.MustCompile(`(?:^|[^a-zA-Z0-9_])((?:avalanche|app|node_timex|node_memory)_[a-z0-9_A-Z]*(?:\([a-zA-Z0-9_|()]*\))?[a-zA-Z0-9_]*)`)
)

// lineAt returns the line of a text until a position.
func lineAt(text string, at int) string { return text[strings.LastIndexByte(text[:at], '\n')+1 : at] }

// A renamed family or variable must not keep its old name anywhere. Runbooks name only known families of other programs. A name that ends in an underscore, or is followed by a star or an ellipsis,
// stands for all that begin with it, and so does the pattern of a grep.
func TestEveryMentionedNameExists(t *testing.T) {
	known := []string{
		"avax_exporter", "avax_exporter_build_info", // client_golang adds build_info to the name of the program
		"AVAX_EXPORTER_SERVICE_HOST", // an example of a variable that Kubernetes sets
	}
	for name := range foreign(t) {
		known = append(known, name)
	}
	n, _ := spoken(t, nil)
	known = append(known, n.All()...)
	for _, r := range testworld.Rules(t, alerts.Digest) {
		known = append(known, r.Record)
	}
	for _, v := range config.Variables() {
		known = append(known, "AVAX_"+v.Name)
	}
	slices.Sort(known)
	seen := 0
	for path, text := range testworld.Readable(t, "../..") {
		patterns := []*regexp.Regexp{seriesName, variableName}
		if strings.HasPrefix(path, "docs/runbooks/") {
			patterns = append(patterns, foreignName)
		}
		for _, pattern := range patterns {
			for _, at := range pattern.FindAllStringSubmatchIndex(text, -1) {
				after := text[at[3]:min(len(text), at[3]+4)]
				for _, name := range testworld.Alternatives(text[at[2]:at[3]]) {
					name = strings.TrimRight(name, ":")
					seen++
					begins := name == "avax" || strings.HasSuffix(name, "_") || strings.Contains(lineAt(text, at[2]), "grep ") || strings.HasPrefix(after, "*") ||
						strings.HasPrefix(after, "…") || strings.HasPrefix(after, ".*")
					switch {
					case slices.Contains(known, name):
					case begins && slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, name) }):
					default:
						t.Errorf("%s:%d: %s does not exist", path, 1+strings.Count(text[:at[2]], "\n"), name)
					}
				}
			}
		}
	}
	if seen < 3000 {
		t.Errorf("only %d names found", seen)
	}
}
