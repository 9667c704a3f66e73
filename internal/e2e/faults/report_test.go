package faults_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the figures into docs/reliability.md")

// reported holds the lines of each table of docs/reliability.md that a test has
// measured.
var reported struct {
	mu    sync.Mutex
	lines map[string][]string
}

// report adds a line to a table.
func report(table, line string) {
	reported.mu.Lock()
	defer reported.mu.Unlock()
	if reported.lines == nil {
		reported.lines = map[string][]string{}
	}
	reported.lines[table] = append(reported.lines[table], line)
}

const reliability = "../../../docs/reliability.md"

// writeReport replaces what stands between the marks of each table that was
// measured, under its head.
func writeReport() error {
	content, err := os.ReadFile(reliability)
	if err != nil {
		return err
	}
	page := string(content)
	for table, lines := range reported.lines {
		between := regexp.MustCompile(`(?s)(<!-- ` + table + ` -->\n).*?(<!-- end of ` + table + ` -->)`)
		if !between.MatchString(page) {
			return fmt.Errorf("%s has no marks of %s", reliability, table)
		}
		text := fmt.Sprintf("\nMeasured on %s with %d processors, %s.\n\n%s\n%s\n\n", time.Now().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), heads[table], strings.Join(lines, "\n"))
		page = between.ReplaceAllStringFunc(page, func(old string) string {
			parts := between.FindStringSubmatch(old)
			return parts[1] + text + parts[2]
		})
	}
	return os.WriteFile(reliability, []byte(page), 0o644)
}

var heads = map[string]string{
	"faults": "| | goroutines | descriptors | heap | resident |\n|---|---|---|---|---|",
	"outage": "| | goroutines | descriptors | heap | resident |\n|---|---|---|---|---|",
	"load":   "| crowd | goroutines at most | descriptors at most | resident at most | longest scrape of a patient client | its scrapes |\n|---|---|---|---|---|---|",
	"soak":   "| | before any incident | after warm-up | at the end | slope an hour |\n|---|---|---|---|---|",
}

// Each table that a test reports into has its place.
func TestThePageHasAPlaceForEachTable(t *testing.T) {
	content, err := os.ReadFile(reliability)
	if err != nil {
		t.Fatal(err)
	}
	for table := range heads {
		if !strings.Contains(string(content), "<!-- "+table+" -->\n") || !strings.Contains(string(content), "<!-- end of "+table+" -->") {
			t.Errorf("docs/reliability.md has no marks of %s", table)
		}
	}
}
