package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// show formats a value. If v is nil, it returns a dash.
func show(v *float64, format func(float64) string) string {
	if v == nil {
		return "–"
	}
	return format(*v)
}

// moment formats Unix seconds relative to now.
func moment(now time.Time, unix *float64) string {
	return show(unix, func(v float64) string { return since(now, unixTime(v)) })
}

func unixTime(seconds float64) time.Time {
	sec, frac := math.Modf(seconds)
	return time.Unix(int64(sec), int64(frac*1e9))
}

func since(now, t time.Time) string {
	if d := t.Sub(now); d > 0 {
		return "in " + span(d)
	}
	return span(now.Sub(t)) + " ago"
}

// clockTime formats the time of day in UTC. It adds the date if t is not today.
func clockTime(now, t time.Time) string {
	t, now = t.UTC(), now.UTC()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04 UTC")
	}
	return date(t) + t.Format(" 15:04 UTC")
}

func date(t time.Time) string { return t.UTC().Format("2006-01-02") }

// seconds formats a duration.
func seconds(v float64) string {
	if v > math.MaxInt64/1e9 {
		return "very long"
	}
	return span(time.Duration(v * float64(time.Second)))
}

// span formats a duration. It truncates instead of rounding: of 1.9 days, one full day is left.
func span(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 100*time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// exact formats a duration to a deadline.
func exact(d time.Duration) string {
	if d >= 100*time.Second && d < time.Hour {
		return strings.TrimSuffix(fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second), " 0 s")
	}
	return span(d)
}

func took(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func yesNo(v float64) string {
	if v == 1 {
		return "yes"
	}
	return "no"
}

// percent formats a ratio. It truncates too: 100 % means all, and a value below a threshold is never shown as the threshold.
func percent(ratio float64) string {
	text := strconv.FormatFloat(math.Floor(ratio*1e4+1e-6)/100, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " %"
}

// number formats a count.
func number(n int) string { return count(float64(n)) }

// count formats a whole number with thousands separators.
func count(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] >= '0' && digits[i-1] <= '9'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func avax(v float64) string {
	switch {
	case v > 0 && v < 1e-4:
		return "< 0.0001 AVAX"
	case v >= 1000:
		return count(math.Floor(v)) + " AVAX"
	}
	text := strconv.FormatFloat(math.Floor(v*1e4+1e-6)/1e4, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + " AVAX"
}

// plural returns "1 node" or "2 nodes".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// brief lists the first names and counts the rest.
func brief(names []string) string {
	const few = 3
	if len(names) > few {
		return strings.Join(names[:few], ", ") + " and " + number(len(names)-few) + " more"
	}
	return strings.Join(names, ", ")
}
