package catalogue

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/alerts"
	"github.com/avax-exporter/avax-exporter/internal/config"
	"github.com/avax-exporter/avax-exporter/internal/testworld"
)

// readable returns the content of every file of the repository that people read or that names families: documents, rules, dashboards, manifests,
// and the code without its tests. The keys are paths.
func readable(t *testing.T) map[string]string {
	t.Helper()
	const root = "../.."
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && slices.Contains([]string{".git", ".tools", "bin", "dist", "node_modules", "testdata", "recorded"}, name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_test.yml") ||
			slices.Contains([]string{"go.sum", "package-lock.json"}, name) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && !strings.Contains(string(text), "\x00") {
			rel, _ := filepath.Rel(root, path)
			files[filepath.ToSlash(rel)] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

var (
	seriesName   = regexp.MustCompile(`(?:^|[^a-zA-Z0-9_:./-])(avax[_:][a-zA-Z0-9_:]*(?:\([a-zA-Z0-9_|()]*\))?[a-zA-Z0-9_:]*)`)
	variableName = regexp.MustCompile(`(?:^|[^a-zA-Z0-9_])(AVAX_[A-Z0-9_]+)`)
)

// lineAt returns the line of a text until a position.
func lineAt(text string, at int) string { return text[strings.LastIndexByte(text[:at], '\n')+1 : at] }

// A renamed family or variable must not keep its old name anywhere. A name that ends in an underscore, or is followed by a star or an ellipsis,
// stands for all that begin with it, and so does the pattern of a grep.
func TestEveryMentionedNameExists(t *testing.T) {
	known := []string{
		"avax_exporter", "avax_exporter_build_info", // client_golang adds build_info to the name of the program
		"AVAX_EXPORTER_SERVICE_HOST", // an example of a variable that Kubernetes sets
	}
	for name := range spoken(t).labelsOf {
		known = append(known, name)
	}
	for _, r := range testworld.Rules(t, alerts.Digest) {
		known = append(known, r.Record)
	}
	for _, v := range config.Variables() {
		known = append(known, "AVAX_"+v.Name)
	}
	slices.Sort(known)
	seen := 0
	for path, text := range readable(t) {
		for _, pattern := range []*regexp.Regexp{seriesName, variableName} {
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
