package faults_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/avax-exporter/avax-exporter/internal/section"
)

// reported holds the lines of each table of docs/reliability.md that a test has measured.
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

// writeReport replaces each table that was measured.
func writeReport() error {
	for table, lines := range reported.lines {
		text := fmt.Sprintf(
			"\nMeasured on %s with %d processors, %s.\n\n%s\n%s\n\n",
			time.Now().Format(time.DateOnly),
			runtime.NumCPU(),
			runtime.Version(),
			heads[table],
			strings.Join(lines, "\n"),
		)
		if err := section.Write(reliability, table, text); err != nil {
			return err
		}
	}
	return nil
}

var heads = map[string]string{
	"faults":   "| | goroutines | descriptors | heap | resident |\n|---|---|---|---|---|",
	"outage":   "| | goroutines | descriptors | heap | resident |\n|---|---|---|---|---|",
	"receiver": "| | goroutines | descriptors | heap | resident |\n|---|---|---|---|---|",
	"load":     "| clients | max. goroutines | max. descriptors | max. resident | longest scrape by another client | number of its scrapes |\n|---|---|---|---|---|---|",
	"outside":  "| attack | max. resident | longest scrape by another client | number of its scrapes | failed scrapes | false values of `avax_node_up` |\n|---|---|---|---|---|---|",
	"soak":     "| | before any incident | after warm-up | at the end | change per hour |\n|---|---|---|---|---|",
}

// Each table that a test writes exists.
func TestReportTablesExist(t *testing.T) {
	for table := range heads {
		if text, err := section.Read(reliability, table); err != nil || !strings.Contains(text, heads[table]) {
			t.Errorf("no table %s: %v", table, err)
		}
	}
}
