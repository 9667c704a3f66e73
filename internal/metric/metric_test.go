package metric_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/metric"
)

var (
	plain   = metric.New("avax_test_plain", `Help with a \ and a "quote".`)
	labeled = metric.New("avax_test_labeled", "Two labels.", "node", "chain")
	events  = metric.NewCounter("avax_test_events_total", "Events.", "node")
)

// lines returns the rendered samples of a batch.
func lines(b *metric.Batch) string {
	var text strings.Builder
	for _, c := range b.Chunks() {
		text.WriteString(c.String())
	}
	return text.String()
}

func TestBatchRendersFamiliesInDeclarationOrder(t *testing.T) {
	b := metric.NewBatch([]*metric.Family{plain, labeled})
	b.SetBool(labeled, false, "bravo", "C")
	b.Set(labeled, 1.5, "alpha", `L1 "quoted" \ and
more`)
	b.SetTime(plain, time.Unix(1700000000, 250e6))

	want := `avax_test_plain 1.70000000025e+09
avax_test_labeled{node="alpha",chain="L1 \"quoted\" \\ and\nmore"} 1.5
avax_test_labeled{node="bravo",chain="C"} 0
`
	if diff := cmp.Diff(want, lines(b)); diff != "" {
		t.Error(diff)
	}
	if err := b.Err(); err != nil {
		t.Error(err)
	}
}

func TestBatchRejectsInvalidSamples(t *testing.T) {
	b := metric.NewBatch([]*metric.Family{labeled})
	b.Set(plain, 1)
	b.Set(labeled, 1, "alpha")
	b.Set(labeled, 1, "alpha", "C")
	b.Set(labeled, 2, "alpha", "C")

	if got, want := b.Chunks()[0].String(), "avax_test_labeled{node=\"alpha\",chain=\"C\"} 1\n"; got != want {
		t.Errorf("served %q, want %q", got, want)
	}
	err := b.Err()
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"avax_test_plain: not declared by this collector",
		"avax_test_labeled: 1 label values for the 2 labels [node chain]",
		`avax_test_labeled{node="alpha",chain="C"}: duplicate series`,
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestOnlyCounterNamesEndInTotal(t *testing.T) {
	for name, declare := range map[string]func(){
		"gauge":   func() { metric.New("avax_test_events_total", "Events.") },
		"counter": func() { metric.NewCounter("avax_test_events", "Events.") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if told := fmt.Sprint(recover()); !strings.Contains(told, name+" avax_test_events") {
					t.Errorf("panics with %q", told)
				}
			}()
			declare()
		})
	}
}

func TestNegativeAndNaNCountersAreRejected(t *testing.T) {
	for _, value := range []float64{-1, math.Inf(-1), math.NaN()} {
		b := metric.NewBatch([]*metric.Family{events})
		b.Set(events, value, "alpha")
		b.Set(events, 0, "bravo")
		if got, want := lines(b), "avax_test_events_total{node=\"bravo\"} 0\n"; got != want {
			t.Errorf("%v: served %q, want %q", value, got, want)
		}
		if err := b.Err(); err == nil || !strings.Contains(err.Error(), "avax_test_events_total: "+fmt.Sprint(value)) {
			t.Errorf("%v: reported %v", value, err)
		}
	}
}

// An unknown peer may determine the text of a label value.
func TestLongLabelValuesAreRejected(t *testing.T) {
	b := metric.NewBatch([]*metric.Family{labeled})
	longest := strings.Repeat("x", metric.MaxValue)
	b.Set(labeled, 1, "alpha", longest)
	for i := range 100 {
		b.Set(labeled, 1, "alpha", longest+strconv.Itoa(i))
	}
	if got := b.Chunks()[0].Samples; len(got) != 1 || got[0].Labels[1] != longest {
		t.Errorf("served %v", got)
	}
	if got, want := b.Err(), "avax_test_labeled: a value of the label chain is longer than 256 bytes"; got == nil || got.Error() != want {
		t.Errorf("error %v, want %s", got, want)
	}
}

func TestManyMistakesAreCounted(t *testing.T) {
	b := metric.NewBatch([]*metric.Family{labeled})
	for i := range 1000 {
		b.Set(labeled, 1, "alpha", strconv.Itoa(i%500))
	}
	if got := strings.Split(b.Err().Error(), "\n"); len(got) != 11 || got[10] != "and 490 more" {
		t.Errorf("error %q", got)
	}
}

// A family whose label values come from an upstream is dropped above its limit. Serving a different part of the family after each
// run would be worse.
func TestFamilyAboveItsLimitIsDroppedAndFailsTheRun(t *testing.T) {
	named := metric.New("avax_test_named", "Things.", "name").AtMost(100)
	for found, served := range map[int]int{100: 100, 101: 0, 5000: 0} {
		b := metric.NewBatch([]*metric.Family{plain, named})
		b.Set(plain, 1)
		for i := range found {
			b.Set(named, 1, strconv.Itoa(i))
		}
		err := b.Err()
		if got := len(b.Chunks()) - 1; got != served/100 {
			t.Errorf("%d series: served %v", found, b.Chunks())
		}
		if errors.Is(err, metric.ErrTooMany) != (served == 0) {
			t.Errorf("%d series: %v", found, err)
		}
		if again := b.Err(); (again == nil) != (err == nil) || err != nil && again.Error() != err.Error() {
			t.Errorf("second call: %v, want %v", again, err)
		}
	}
}

func TestNotesAndTableCellsAreTruncated(t *testing.T) {
	b := metric.NewBatch(nil)
	long := strings.Repeat("ä", 5000)
	b.Note("it calls itself %s", long)
	b.Table(metric.Table{Columns: []string{"Node", "Value"}, Rows: [][]string{{"alpha", "1"}, {"bravo", long}}})
	rows := b.Tables()[0].Rows
	for _, text := range []string{b.Notes()[0], rows[1][1]} {
		if len(text) > 1003 || !strings.HasSuffix(text, "ä…") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	}
	if rows[0][0] != "alpha" || rows[1][0] != "bravo" {
		t.Errorf("rows %q", rows)
	}
}

func TestInvalidUTF8AndNaNKeepThePageValid(t *testing.T) {
	b := metric.NewBatch([]*metric.Family{plain, labeled})
	b.Set(plain, math.NaN())
	b.Set(labeled, math.Inf(-1), "a\xffb", "")
	if got, want := b.Chunks()[1].String(), "avax_test_labeled{node=\"a\uFFFDb\",chain=\"\"} -Inf\n"; got != want {
		t.Errorf("served %q, want %q", got, want)
	}
	if got := b.Chunks()[0].Samples[0].Value; !math.IsNaN(got) {
		t.Errorf("parsed %v, want NaN", got)
	}
}

// Rows above the limit are not stored.
func TestTableRowsAreLimited(t *testing.T) {
	b := metric.NewBatch(nil)
	long := metric.Table{About: "Who would vote no.", Columns: []string{"Peer"}}
	for i := range metric.MaxRows - 1 {
		long.Rows = append(long.Rows, []string{strconv.Itoa(i)})
	}
	for range 3 {
		b.Table(long)
	}
	tables := b.Tables()
	if len(tables) != 3 {
		t.Fatalf("%d tables", len(tables))
	}
	for i, want := range []struct{ rows, leftOut int }{{metric.MaxRows - 1, 0}, {1, metric.MaxRows - 2}, {0, metric.MaxRows - 1}} {
		if got := tables[i]; len(got.Rows) != want.rows || got.LeftOut != want.leftOut || got.About != long.About {
			t.Errorf("table %d: %d rows, %d dropped; want %+v", i, len(got.Rows), got.LeftOut, want)
		}
	}
	if len(b.Chunks()) > 0 || b.Err() != nil {
		t.Errorf("samples of a table: %v, %v", b.Chunks(), b.Err())
	}
}
