package simnet

import "time"

// Fault is a failure of an upstream whose process runs. See Node.Inject.
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

// Slow answers correctly after d.
func Slow(d time.Duration) Fault { return Fault{kind: slow, after: d} }

// Hung accepts the connection and never sends a byte, like a hung process. If the fault applies to all calls of a node, its peers
// disconnect from it after 30 s.
func Hung() Fault { return Fault{kind: hung} }

// Reset accepts the connection and resets it after the request.
func Reset() Fault { return Fault{kind: reset} }

// CutOff ends the body after half of it.
func CutOff() Fault { return Fault{kind: cutOff} }

// RateLimited answers 429 with Retry-After, as proxies and public servers do.
func RateLimited(retryAfter time.Duration) Fault { return Fault{kind: rateLimited, after: retryAfter} }

// Unavailable answers 503 with the HTML page of a proxy that cannot reach the upstream.
func Unavailable() Fault { return Fault{kind: unavailable} }

// HTML answers 200 with a web page, as a login page or a captive portal does.
func HTML() Fault { return Fault{kind: html} }

// WrongShape answers 200 with valid JSON of another type than documented.
func WrongShape() Fault { return Fault{kind: wrongShape} }

// Refused answers 200 with a JSON-RPC error of this code and message. REST services answer with the code as status and with
// their error body.
func Refused(code int, message string) Fault { return Fault{kind: refused, code: code, text: message} }

// WrongHost answers 403 "invalid host specified", as a node does for a Host header that it does not allow.
func WrongHost() Fault { return Fault{kind: wrongHost} }
