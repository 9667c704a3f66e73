package testworld

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/avax-exporter/avax-exporter/collectors"
	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/testworld/must"
)

var (
	sampleLine = regexp.MustCompile(`^([a-z0-9_]+)\{([^}]*)\} (\S+)$`)
	labelPair  = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
)

// Chunks returns these samples of declared families, one on each line. Labels that a line lacks are empty.
func Chunks(t testing.TB, lines string) []metric.Chunk {
	t.Helper()
	var families []*metric.Family
	var add []func(*metric.Batch)
	for text := range strings.Lines(lines) {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		m := sampleLine.FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("not a sample: %s", text)
		}
		value := must.Get(strconv.ParseFloat(m[3], 64))(t)
		given, names := map[string]string{}, []string{}
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			given[pair[1]], names = pair[2], append(names, pair[1])
		}
		f := collectors.MustFamily(m[1], names...)
		if !slices.Contains(families, f) {
			families = append(families, f)
		}
		var values []string
		for _, name := range f.Labels {
			values = append(values, given[name])
		}
		add = append(add, func(b *metric.Batch) { b.Set(f, value, values...) })
	}
	b := metric.NewBatch(families)
	for _, one := range add {
		one(b)
	}
	must.Do(t, b.Err())
	return b.Chunks()
}
