// Package hostile creates answers that need as much memory as possible for their size. Only tests use it.
package hostile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// answers yields variants of a valid answer. A variant has size bytes or slightly less, nearly all in one of its values. Accepted
// reports whether an answer is valid. It is used to make list elements as small as possible.
func answers(good []byte, size int, accepted func([]byte) bool) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		var whole any
		if json.Unmarshal(good, &whole) != nil {
			panic(fmt.Sprintf("not JSON: %.100s", good))
		}
		for _, p := range places(whole, nil) {
			for name, fill := range fillings(whole, p, accepted) {
				mark := "\x00"
				frame, _ := json.Marshal(replaced(whole, p, mark))
				quoted, _ := json.Marshal(mark)
				before, after, _ := bytes.Cut(frame, quoted)
				body := slices.Concat(before, fill(size-len(before)-len(after)), after)
				if !yield(strings.Join(p, ".")+" "+name, body) {
					return
				}
			}
		}
	}
}

// places returns the paths of the values in v. For a list it returns only those in the first element.
func places(v any, at []string) [][]string {
	all := [][]string{at}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, places(v[name], append(slices.Clone(at), name))...)
		}
	case []any:
		if len(v) > 0 {
			all = append(all, places(v[0], append(slices.Clone(at), "0"))...)
		}
	}
	return all
}

// replaced returns a copy of v with another value at a path.
func replaced(v any, at []string, by any) any {
	if len(at) == 0 {
		return by
	}
	switch v := v.(type) {
	case map[string]any:
		v = maps.Clone(v)
		v[at[0]] = replaced(v[at[0]], at[1:], by)
		return v
	case []any:
		i, _ := strconv.Atoi(at[0])
		v = slices.Clone(v)
		v[i] = replaced(v[i], at[1:], by)
		return v
	}
	return by
}

func valueAt(v any, at []string) any {
	for _, step := range at {
		switch in := v.(type) {
		case map[string]any:
			v = in[step]
		case []any:
			i, _ := strconv.Atoi(step)
			v = in[i]
		}
	}
	return v
}

// fillings returns, for a path, functions that create a value of a given size.
func fillings(whole any, at []string, accepted func([]byte) bool) map[string]func(int) []byte {
	elements := map[string]string{"{}": `{}`, "[]": `[]`, `""`: `""`, "0": `0`, "map": `{"a":{}}`, "maps": `{"a":{"a":{}}}`}
	fits := func(element any, wrap func(any) any) bool {
		body, _ := json.Marshal(replaced(whole, at, wrap(element)))
		return accepted(body)
	}
	var own any
	var wrap func(any) any
	switch v := valueAt(whole, at).(type) {
	case []any:
		if len(v) > 0 {
			own, wrap = v[0], func(e any) any { return []any{e} }
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			own, wrap = v[name], func(e any) any { return map[string]any{name: e} }
			break
		}
	case string, float64:
		return map[string]func(int) []byte{"long": func(n int) []byte {
			return []byte(`"` + strings.Repeat("x", max(0, n-2)) + `"`)
		}}
	default:
		return nil
	}
	if own != nil && fits(own, wrap) {
		least, _ := json.Marshal(smallest(own, func(e any) bool { return fits(e, wrap) }))
		elements["least"] = string(least)
	}
	all := map[string]func(int) []byte{}
	_, isList := valueAt(whole, at).([]any)
	for name, element := range elements {
		if isList {
			all["["+name+"…]"] = func(n int) []byte {
				return []byte("[" + strings.Repeat(element+",", max(0, (n-2-len(element))/(len(element)+1))) + element + "]")
			}
			continue
		}
		all["{"+name+"…}"] = func(n int) []byte {
			var b bytes.Buffer
			b.WriteString(`{"k":` + element)
			for i := 0; b.Len()+len(element)+14 < n; i++ {
				b.WriteString(`,"` + strconv.FormatInt(int64(i), 36) + `":` + element)
			}
			b.WriteByte('}')
			return b.Bytes()
		}
	}
	return all
}

// smallest removes the optional parts of a value.
func smallest(v any, fits func(any) bool) any {
	switch in := v.(type) {
	case map[string]any:
		in = maps.Clone(in)
		for _, name := range slices.Sorted(maps.Keys(in)) {
			less := maps.Clone(in)
			delete(less, name)
			if fits(less) {
				in = less
				continue
			}
			in[name] = smallest(in[name], func(part any) bool {
				other := maps.Clone(in)
				other[name] = part
				return fits(other)
			})
		}
		return in
	case []any:
		if fits([]any{}) {
			return []any{}
		}
	case string:
		for _, short := range []string{"", "0", "0x0"} {
			if fits(short) {
				return short
			}
		}
	}
	return v
}

// allocated returns the number of bytes that f allocates, including garbage.
func allocated(f func()) int {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// peak returns the maximum number of bytes in use while read reads an answer.
func peak(answer []byte, read func(*body)) int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b := &body{left: answer, base: m.HeapAlloc}
	read(b)
	b.look()
	runtime.KeepAlive(answer)
	return int(b.peak)
}

// body is an answer that measures the heap while it is read.
type body struct {
	left       []byte
	base, peak uint64
	next       int // measure when fewer bytes than this are left
}

// Read returns at most a few KiB.
func (b *body) Read(p []byte) (int, error) {
	if len(b.left) <= b.next || b.next == 0 {
		b.look()
		b.next = max(1, len(b.left)*9/10)
	}
	n, err := bytes.NewReader(b.left).Read(p)
	b.left = b.left[n:]
	return n, err
}

// Close does nothing.
func (*body) Close() error { return nil }

func (b *body) look() {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.peak = max(b.peak, m.HeapAlloc-min(m.HeapAlloc, b.base))
}

// Question is one call of an upstream that answers with at most maxBody bytes.
type Question struct {
	Name string
	Good []byte // a valid answer
	Ask  func(answer io.ReadCloser, maxBody int) error
}

// Limits of the memory for an answer as large as AVAX_MAX_BODY, in bytes per byte of the answer. docs/reliability.md states InUse.
const (
	InUse     = 4.0  // at the same time
	Allocated = 25.0 // in total, including garbage
)

// Check makes each call with answers that need much memory, and fails t if one exceeds a limit.
func Check(t *testing.T, questions []Question) {
	t.Helper()
	size := 512 << 10
	if testing.Short() {
		size = 64 << 10
	}
	type found struct {
		what  string
		ratio float64
		body  []byte
		ask   func(io.ReadCloser, int) error
	}
	var all []found
	for _, q := range questions {
		accepted := func(body []byte) bool { return q.Ask(io.NopCloser(bytes.NewReader(body)), size) == nil }
		if !accepted(q.Good) {
			t.Errorf("%s: the good answer is rejected", q.Name)
		}
		worst := found{}
		for name, body := range answers(q.Good, size, accepted) {
			n := allocated(func() { _ = q.Ask(io.NopCloser(bytes.NewReader(body)), size) })
			if ratio := float64(n) / float64(size); ratio > worst.ratio {
				worst = found{q.Name + " " + name, ratio, body, q.Ask}
			}
		}
		all = append(all, worst)
	}
	slices.SortFunc(all, func(a, b found) int { return cmp.Compare(b.ratio, a.ratio) })
	for _, f := range all[:min(10, len(all))] {
		in := float64(peak(f.body, func(b *body) { _ = f.ask(b, size) })) / float64(size)
		t.Logf("%s: %.1f bytes in use and %.1f bytes allocated per byte of the answer", f.what, in, f.ratio)
		if f.ratio > Allocated || in > InUse {
			t.Errorf("%s: more than %.1f bytes in use or %.1f bytes allocated per byte of the answer", f.what, InUse, Allocated)
		}
	}
}
