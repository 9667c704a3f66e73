package web

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// cell is a value as people read it.
type cell struct {
	Text  string
	Title string // the same in full, or why there is none
	By    string // the node in whose eyes it is so
	Aside string // what belongs to it and matters less
	Level level
}

// absent is a dash with its reason: absent is never zero.
func absent(why string) cell { return cell{Text: "–", Title: why} }

// as returns the cell at another level.
func (c cell) as(l level) cell {
	c.Level = l
	return c
}

func show(v *float64, format func(float64) string, why string) cell {
	if v == nil {
		return absent(why)
	}
	return cell{Text: format(*v)}
}

// moment shows Unix seconds as seen from now.
func moment(now time.Time, unix *float64, why string) cell {
	if unix == nil {
		return absent(why)
	}
	sec, frac := math.Modf(*unix)
	return since(now, time.Unix(int64(sec), int64(frac*1e9)))
}

func since(now, t time.Time) cell {
	c := cell{Title: t.UTC().Format("2006-01-02 15:04:05 UTC")}
	if d := t.Sub(now); d > 0 {
		c.Text = "in " + span(d)
	} else {
		c.Text = span(-d) + " ago"
	}
	return c
}

// span cuts rather than rounds: what ends in 1.9 days has one full day left.
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

// percent cuts too: 100 % is all of it, and what is under a bar looks so.
func percent(ratio float64) string {
	return fmt.Sprintf("%.2f %%", math.Floor(ratio*1e4+1e-6)/100)
}

// number counts things.
func number(n int) string { return count(float64(n)) }

// count writes a whole number with its thousands apart.
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
		return "< 0.0001"
	case v >= 1000:
		return count(math.Floor(v))
	}
	text := strconv.FormatFloat(math.Floor(v*1e4+1e-6)/1e4, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// avaxUp writes nAVAX as AVAX, cut upwards: whoever pays what it says pays enough.
func avaxUp(nano uint64) string {
	const step = 100_000 // 0.0001 AVAX
	steps := nano / step
	if nano%step > 0 {
		steps++
	}
	whole, part := steps/10_000, steps%10_000
	text := count(float64(whole))
	if part > 0 {
		text += strings.TrimRight(fmt.Sprintf(".%04d", part), "0")
	}
	return text
}

// plural writes "1 node" or "2 nodes".
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(float64(n)) + " " + many
}

// short makes a node ID fit between words.
func short(id string) string {
	if runes := []rune(id); len(runes) > 16 {
		return string(runes[:14]) + "…"
	}
	return id
}
