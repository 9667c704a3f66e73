package web

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/internal/metric"
	"github.com/avax-exporter/avax-exporter/internal/snapshot"
)

func TestTheVerdictTellsOfAnL1WhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, test := range map[string]struct {
			lines string
			keep  func(*Site)
			want  string
		}{
			"of which nobody tells what it burns": {`
				avax_l1_weight{chain="one"} 100
				avax_l1_active_weight{chain="one"} 95
				avax_l1_connected_weight{chain="one",node="a"} 85
				avax_l1_connected_weight{chain="one",node="b"} 75
				avax_l1_connected_weight{chain="one",node="c"} 95`,
				func(s *Site) { keepUnpriced(s, "one", "dry 5 0", "low 15 0.5", "well 80 5") }, `
				bad: 2 urgent problems, 1 that can wait
				bad: 1 L1 is reached too little [AvaxL1ConnectedWeightLow]: one by b, a #l1-one,
				bad: 1 L1 validator is inactive [AvaxL1ValidatorInactive]: NodeID-dry of one #l1-one-dry,
				warn: 1 L1 validator runs dry [AvaxL1RunwayLow]: NodeID-low of one in 11 days #l1-one-low,`},
			"that burns nothing": {`
				avax_l1_weight{chain="one"} 100`,
				func(s *Site) { keepL1(s, "one", l1Told(0, "low 100 0.1")) }, `
				well: All is well`},
			"that will lose its quorum, and one that has": {`
				avax_l1_weight{chain="soon"} 100
				avax_l1_active_weight{chain="soon"} 100
				avax_l1_weight{chain="gone"} 100
				avax_l1_active_weight{chain="gone"} 50`,
				func(s *Site) {
					keepL1(s, "soon", l1Told(4e9/day, "low 100 10"))
					keepUnpriced(s, "gone", "rich 50 1000", "dry 50 0")
				}, `
				bad: 4 urgent problems
				bad: 1 L1 has too little active weight [AvaxL1ActiveWeightLow]: gone #l1-gone,
				bad: 1 L1 will lose its quorum [AvaxL1QuorumLossForecast]: soon in 2 days #l1-soon,
				bad: 1 L1 validator is inactive [AvaxL1ValidatorInactive]: NodeID-dry of gone #l1-gone-dry,
				bad: 1 L1 validator runs dry [AvaxL1RunwayLow]: NodeID-low of soon in 2 days #l1-soon-low,`},
			"whose balance is used up by the clock, and the P-Chain stands still": {`
				avax_l1_weight{chain="one"} 100`,
				func(s *Site) {
					l1 := l1Told(floor, "low 10 0.1", "well 90 50")
					l1.At = l1.At.Add(-24 * 3 * time.Hour)
					keepL1(s, "one", l1)
				}, `
				bad: 1 urgent problem
				bad: 1 L1 validator runs dry [AvaxL1RunwayLow]: NodeID-low of one now #l1-one-low,`},
		} {
			s := told(t, test.lines)
			test.keep(s)
			want := strings.ReplaceAll(strings.TrimPrefix(test.want, "\n"), "\t", "") + "\n"
			if diff := cmp.Diff(want, words(s.view(time.Now()).Verdict)); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
	})
}

// What is wrong is told of all validators, also of those that the page has no room for.
func TestTheVerdictCountsValidatorsThatAreNotShown(t *testing.T) {
	s := told(t, `avax_l1_weight{chain="one"} 100`)
	var l1 []string
	for i := range mostRows + 7 {
		l1 = append(l1, fmt.Sprintf("V%02d 1 0", i))
	}
	keepL1(s, "one", l1Told(floor, l1...))
	if got, want := words(s.view(time.Now()).Verdict), fmt.Sprintf("%d L1 validators are inactive", mostRows+7); !strings.Contains(got, want) {
		t.Errorf("want %s:\n%s", want, got)
	}
}

// By the rules all burn the same; what was measured may differ.
func TestOfAnL1TheValidatorThatRunsDryFirstStandsFirst(t *testing.T) {
	s := told(t, `avax_l1_weight{chain="one"} 100`)
	l1 := l1Told(floor, "rich 1 50", "poor 1 5", "old 1 legacy", "thirsty 1 20", "dry 1 0")
	l1.Set[3].Burn *= 10
	keepL1(s, "one", l1)
	var got []string
	for _, r := range s.view(time.Now()).L1s[0].Rows {
		got = append(got, r.validation)
	}
	if diff := cmp.Diff([]string{"dry", "thirsty", "poor", "rich", "old"}, got); diff != "" {
		t.Error(diff)
	}
}

// l1_runway knows more than l1; where it has been silent for too long, that is over.
func TestAnL1IsShownAsTheRunwayToldItWhileThatIsFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := told(t, `avax_l1_weight{chain="one"} 100`)
		keepUnpriced(s, "one", "a 100 5")
		keepL1(s, "one", l1Told(2*floor, "a 100 5"))
		runway := func() string { return s.view(time.Now()).L1s[0].Rows[0].Runway.Text }
		if got := runway(); got != "in 56 days" {
			t.Errorf("by l1_runway it runs dry %s", got)
		}
		time.Sleep(time.Minute)
		put(t, s, snapshot.Key{Collector: "test", Target: metric.Target{}}, `avax_l1_weight{chain="one"} 100`)
		keepUnpriced(s, "one", "a 100 5")
		if got := runway(); got != "in 113 days" {
			t.Errorf("by l1 alone it runs dry %s", got)
		}
	})
}
