package explain

import (
	"io"
	"strings"
	"testing"
)

// FuzzAnyPageIsToldOrRefused gives explain what somebody else's exporter may serve.
func FuzzAnyPageIsToldOrRefused(f *testing.F) {
	f.Add(served, "AvaxRewardStakeLow", "alpha")
	f.Add(served, "avax_node_up", "")
	f.Add("# TYPE avax_x histogram\navax_x_bucket{le=\"NaN\"} -1\navax_x_sum 1e999\n", "avax_x", "")
	f.Add("avax_node_up{node=\"\xff\"} NaN 1\n", "avax_node_up", "\xff")
	f.Fuzz(func(t *testing.T, text, name, target string) {
		page, err := Read(strings.NewReader(text), now)
		if (page == nil) == (err == nil) {
			t.Fatalf("%q gives %v and %v", text, page, err)
		}
		if err == nil {
			_ = Name(io.Discard, page, name, target)
		}
	})
}
