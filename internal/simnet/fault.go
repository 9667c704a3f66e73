package simnet

import "time"

// Fault is a way in which an upstream fails although its process runs. See Node.Suffer.
type Fault struct {
	kind  faultKind
	after time.Duration
	code  int
	text  string
}

type faultKind int

const (
	slow faultKind = iota + 1
	hung
	reset
	cutOff
	rateLimited
	unavailable
	html
	wrongShape
	refused
	wrongHost
)

// Slow answers rightly, but only after d.
func Slow(d time.Duration) Fault { return Fault{kind: slow, after: d} }

// Hung accepts the connection and never sends a byte, as a stopped process does. Where a node suffers it for
// all calls, its peers lose it after 30 s.
func Hung() Fault { return Fault{kind: hung} }

// Reset accepts the connection and resets it once the request is there.
func Reset() Fault { return Fault{kind: reset} }

// CutOff ends the body half way through.
func CutOff() Fault { return Fault{kind: cutOff} }

// RateLimited answers 429 with Retry-After, as proxies and public servers do.
func RateLimited(retryAfter time.Duration) Fault { return Fault{kind: rateLimited, after: retryAfter} }

// Unavailable answers 503 with the HTML page of a proxy that cannot reach the upstream.
func Unavailable() Fault { return Fault{kind: unavailable} }

// HTML answers 200 with a web page, as a login page or a captive portal does.
func HTML() Fault { return Fault{kind: html} }

// WrongShape answers 200 with valid JSON whose result is of another type than promised.
func WrongShape() Fault { return Fault{kind: wrongShape} }

// Refused answers 200 with a JSON-RPC error of that code and message; the REST services answer with that code
// as status and with their error body.
func Refused(code int, message string) Fault { return Fault{kind: refused, code: code, text: message} }

// WrongHost answers 403 "invalid host specified", as a node does that was asked by a name it does not allow.
func WrongHost() Fault { return Fault{kind: wrongHost} }
