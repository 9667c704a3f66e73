package main

import (
	"strings"
	"testing"
)

func TestCompareReportsWorseFigures(t *testing.T) {
	committed := figuresOf([]byte("goos: linux\nBenchmarkA 3 200 cpu-ns/op 10 B/op\nBenchmarkA 3 100 cpu-ns/op 12 B/op\nBenchmarkGone 1 1 B/op\n"))
	for run, want := range map[string]string{
		"BenchmarkA 3 109 cpu-ns/op 10 B/op":                                       "",
		"BenchmarkA 3 111 cpu-ns/op 10 B/op":                                       "BenchmarkA cpu-ns/op",
		"BenchmarkA 3 300 cpu-ns/op 10 B/op\nBenchmarkA 3 105 cpu-ns/op 10 B/op\n": "", // the lowest counts
		"BenchmarkA 3 50 cpu-ns/op 12 B/op\nBenchmarkNew 1 7 B/op":                 "BenchmarkA B/op",
	} {
		var out strings.Builder
		err := differences(&out, committed, figuresOf([]byte(run)))
		if (err == nil) != (want == "") || err != nil && !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%q: %v, want %q", run, err, want)
		}
	}
}

func TestMergedReplacesMeasuredBenchmarks(t *testing.T) {
	got := string(merged([]byte("goos: old\nBenchmarkA 1 1 B/op\nBenchmarkB 1 2 B/op\n"), []byte("goos: new\nBenchmarkA 1 3 B/op\n")))
	if want := "goos: new\nBenchmarkA 1 3 B/op\nBenchmarkB 1 2 B/op\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPageKeepsRowsThatWereNotMeasured(t *testing.T) {
	page := "# Performance\n\n| what | bar | before | measured | on | |\n|---|---|---|---|---|---|\n" +
		"| a | 1 | – | 5 | 2026-01-01 | met |\n| b | 2 | 7 | 6 | 2026-01-01 | met |\n\nBeside the bars:\n\n- Old figure: 3.\n"
	rows, also := readPage([]byte(page))
	b := &bench{rows: []row{{what: "b", bar: "2", measured: "9", on: "2026-02-02"}}, also: []string{"Old figure: 4.", "New figure: 1."}}
	b.merge(rows, also)
	if len(b.rows) != 2 || b.rows[0].measured != "5" || b.rows[0].on != "2026-01-01" || b.rows[1].before != "6" || b.rows[1].measured != "9" {
		t.Errorf("%+v", b.rows)
	}
	if strings.Join(b.also, "|") != "Old figure: 4.|New figure: 1." {
		t.Errorf("%q", b.also)
	}
}
