// Package words formats values for people: in pages, answers and errors.
package words

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// UnixTime converts Unix seconds.
func UnixTime(seconds float64) time.Time {
	sec, frac := math.Modf(seconds)
	return time.Unix(int64(sec), int64(frac*1e9))
}

// Since returns how long ago a time was, or when it will be.
func Since(now, t time.Time) string {
	if d := t.Sub(now); d > 0 {
		return "in " + Span(d)
	}
	return Span(now.Sub(t)) + " ago"
}

// ClockTime formats the time of day in UTC. It adds the date if t is not today.
func ClockTime(now, t time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 UTC")
	}
	return date(t) + t.Format(" 15:04 UTC")
}

func date(t time.Time) string { return t.UTC().Format("2006-01-02") }

// Seconds formats a duration.
func Seconds(v float64) string {
	if v > math.MaxInt64/1e9 {
		return "very long"
	}
	return Span(time.Duration(v * float64(time.Second)))
}

// Span formats a duration. It truncates instead of rounding: of 1.9 days, one full day is left.
func Span(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 100*time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return Number(int(d/(24*time.Hour))) + " days"
}

// Exact formats a duration to a deadline.
func Exact(d time.Duration) string {
	if d >= 100*time.Second && d < time.Hour {
		return strings.TrimSuffix(fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second), " 0 s")
	}
	return Span(d)
}

// Took formats the duration of a call.
func Took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// YesNo formats a boolean: 1 is yes.
func YesNo(v float64) string {
	if v == 1 {
		return "yes"
	}
	return "no"
}

// Percent formats a ratio. It truncates too: 100 % means all, and a value below a threshold is never shown as the threshold.
func Percent(ratio float64) string {
	text := strconv.FormatFloat(math.Floor(ratio*1e4+1e-6)/100, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}

// Number formats a count.
func Number(n int) string { return Count(float64(n)) }

// Count formats a whole number with thousands separators.
func Count(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] >= '0' && digits[i-1] <= '9'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// AVAX formats an amount.
func AVAX(v float64) string {
	switch {
	case v > 0 && v < 1e-4:
		return "< 0.0001 AVAX"
	case v >= 1000:
		return Count(math.Floor(v)) + " AVAX"
	}
	text := strconv.FormatFloat(math.Floor(v*1e4+1e-6)/1e4, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " AVAX"
}

// Plural returns "1 node" or "2 nodes".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Brief lists the first names and counts the rest.
func Brief(names []string) string {
	const few = 3
	if len(names) > few {
		return strings.Join(names[:few], ", ") + " and " + Number(len(names)-few) + " more"
	}
	return strings.Join(names, ", ")
}

// Printable replaces control characters, except line breaks and tabs, and invalid UTF-8, by question marks. A terminal would execute
// them, and texts of nodes and services may contain them.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar:
			return '?'
		}
		return r
	}, text)
}

// PrintableWriter writes printable text.
type PrintableWriter struct{ io.Writer }

func (w PrintableWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, Printable(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
