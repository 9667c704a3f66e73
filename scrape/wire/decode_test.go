package wire_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/avax-exporter/avax-exporter/scrape/wire"
)

type envelope struct {
	Next string `json:"next,omitzero"`
}

type part struct {
	Weight wire.Uint64 `json:"weight"`
}

type whole struct {
	envelope
	Parts  []part          `json:"parts"`
	ByID   map[uint32]part `json:"byID,omitzero"`
	Names  []string        `json:"names,omitzero"`
	One    *part           `json:"one"`
	Uptime *wire.Percent   `json:"uptime"`
	When   time.Time       `json:"when,omitzero"`
	Hidden string          `json:"-"`
}

func decoded(in string) (whole, error) {
	var v whole
	err := wire.DecodeBytes([]byte(in), &v)
	return v, err
}

func TestDecodeIgnoresUnknownMembers(t *testing.T) {
	got, err := decoded(`{"x":{"deep":[1,{}]},"p\u0061rts":[{"weight":"1","y":null},{"weight":2}],"byID":{"236":{"weight":3}},
		"names":["a","b"],"one":{"weight":4},"uptime":"99.5","when":"2026-11-20T18:00:00Z","next":"n","Hidden":"h"}`)
	if err != nil {
		t.Fatal(err)
	}
	uptime := wire.Percent(99.5)
	want := whole{
		envelope: envelope{"n"}, Parts: []part{{1}, {2}}, ByID: map[uint32]part{236: {3}}, Names: []string{"a", "b"},
		One: &part{4}, Uptime: &uptime, When: time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC),
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(whole{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRejectsMissingRequiredFields(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{}`, `: parts is missing`},
		{`{"parts":[{"weight":1},{}]}`, `/parts/1: weight is missing`},
		{`{"parts":[{"weight":null}]}`, `/parts/0: weight is missing`},
		{`{"parts":[],"byID":{"236":{}}}`, `/byID/236: weight is missing`},
		{`{"parts":[],"one":{}}`, `/one: weight is missing`},
		{`{"parts":[],"uptime":""}`, `/uptime: an empty string`},
		{`{"parts":[{"weight":1},null]}`, `/parts/1: null`},
		{`{"parts":[],"names":["a",null]}`, `/names/1: null`},
		{`{"parts":[],"byID":{"236":null}}`, `/byID/236: null`},
	} {
		_, err := decoded(c.in)
		var e *json.SemanticError
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v", c.in, err)
			continue
		}
		if got := string(e.JSONPointer) + ": " + e.Err.Error(); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestDecodeLeavesOptionalFieldsAbsent(t *testing.T) {
	for _, in := range []string{`{"parts":[]}`, `{"parts":[],"byID":null,"names":null,"one":null,"uptime":null,"next":null,"when":null}`} {
		got, err := decoded(in)
		if diff := cmp.Diff(whole{Parts: []part{}}, got, cmp.AllowUnexported(whole{})); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", in, err, diff)
		}
	}
}

func TestDecodeKeepsEmptyListsNonNil(t *testing.T) {
	got, err := decoded(`{"parts":[],"byID":{}}`)
	if err != nil || got.Parts == nil || got.ByID == nil {
		t.Errorf("empty list or map decoded to nil: %+v, %v", got, err)
	}
	if got, err := decoded(`{"parts":null}`); err != nil || got.Parts != nil {
		t.Errorf("null decoded to a list: %+v, %v", got, err)
	}
}

func TestDecodeRejectsIncompleteOrMistypedInput(t *testing.T) {
	for _, in := range []string{``, `{`, `{"parts"`, `{"parts":`, `{"parts":[`, `{"parts":[{"weight":1}`, `{"parts":[{"weight":1},`, `[]`, `"x"`, `{"parts":{}}`,
		`{"parts":[1]}`, `{"parts":[],"byID":[]}`, `{"parts":[],"byID":{"x":{"weight":1}}}`} {
		if got, err := decoded(in); err == nil {
			t.Errorf("%s decoded to %+v", in, got)
		}
	}
}

func FuzzDecodeMatchesEncodingJSON(f *testing.F) {
	f.Add([]byte(`{"parts":[{"weight":"1"}],"byID":{"1":{"weight":2}},"one":{"weight":4},"uptime":"99.5"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var ours, theirs whole
		if wire.DecodeBytes(in, &ours) != nil {
			return
		}
		if err := json.UnmarshalDecode(jsontext.NewDecoder(strings.NewReader(string(in))), &theirs); err != nil {
			return // Decode counts this null as absent
		}
		if diff := cmp.Diff(theirs, ours, cmp.AllowUnexported(whole{})); diff != "" {
			t.Errorf("%q: %s", in, diff)
		}
	})
}
