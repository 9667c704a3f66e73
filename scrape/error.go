package scrape

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Outcome is the result of a call. There is a fixed set of outcomes, so an outcome can be a label value.
type Outcome string

// The outcomes. Every Error has one of these outcomes, but never OK.
const (
	OK            Outcome = "ok"
	Unreachable   Outcome = "unreachable"   // no connection, or the connection broke before the answer was complete
	Timeout       Outcome = "timeout"       // no complete answer in time, or the caller cancelled
	Forbidden     Outcome = "forbidden"     // credentials missing, wrong or without this permission; or host name not allowed
	Rejected      Outcome = "rejected"      // the upstream rejected the request: a JSON-RPC error (RPCError), or HTTP 400, 415, …
	NotOffered    Outcome = "not_offered"   // the upstream, or a proxy in front of it, does not offer this method
	RateLimited   Outcome = "rate_limited"  // too many requests, a pause that the upstream requested, or a spent budget
	Unavailable   Outcome = "unavailable"   // the upstream, or a proxy in front of it, is temporarily unavailable
	Bootstrapping Outcome = "bootstrapping" // the node tracks the chain and has not bootstrapped it yet
	NotFound      Outcome = "not_found"     // no such path: chain unknown or not tracked, API disabled, or no such resource
	Malformed     Outcome = "malformed"     // the answer does not have the expected form
	TooLarge      Outcome = "too_large"     // the answer, or its decoded form, exceeds the limit
	LocalLimit    Outcome = "local_limit"   // the exporter's host lacks file descriptors, ports, memory or CPU for the call: says nothing about the upstream
)

// Outcomes lists all outcomes, OK first. Callers must not change the slice.
var Outcomes = []Outcome{
	OK, Unreachable, Timeout, Forbidden, Rejected, NotOffered, RateLimited,
	Unavailable, Bootstrapping, NotFound, Malformed, TooLarge, LocalLimit,
}

// IsRejection reports whether the upstream answered, but rejects the caller.
func (o Outcome) IsRejection() bool { return o == Forbidden || o == RateLimited }

// Error is the error of every failed call. It holds the operation, the outcome and the cause. Its text contains
// no URL, header or credential.
type Error struct {
	Op      string // the method or path pattern, such as info.getNodeID
	Outcome Outcome
	Err     error
}

// lost is the cause of a call that the upstream does not offer, but answered before.
type lost struct{ error }

func (l *lost) Error() string { return l.error.Error() + "; it answered this call before" }

// Unwrap returns the upstream's refusal.
func (l *lost) Unwrap() error { return l.error }

// IsLost reports whether the upstream does not offer a call that it answered before.
func IsLost(err error) bool { return errors.As(err, new(*lost)) }

// starved is the cause of a call for which this process had too little CPU.
type starved struct{ error }

func (s *starved) Unwrap() error { return s.error }

// Starved returns the error of a call without an answer for which this process had too little CPU.
func Starved(op string, err error) error {
	return &Error{op, LocalLimit, &starved{Advise(&reason{"the exporter has too little CPU to wait for the answer", err},
		"Give the exporter more CPU, or split the nodes among shards. This says nothing about the node.")}}
}

// IsStarved reports whether err is Starved, wrapped or not.
func IsStarved(err error) bool { return errors.As(err, new(*starved)) }

// advised is an error with its own remedy.
type advised struct {
	error
	remedy string
}

func (a *advised) Unwrap() error { return a.error }

// Advise returns the error with what to do about it, in whole sentences. Without it, the outcome determines the remedy.
func Advise(err error, remedy string) error { return &advised{err, remedy} }

// AdviceOf returns what to do about an error, or an empty text if the outcome determines it.
func AdviceOf(err error) string {
	if a, ok := errors.AsType[*advised](err); ok {
		return a.remedy
	}
	return ""
}

// BadPage returns the error for a page of a list whose order or token is wrong.
func BadPage(op string, cause error) error {
	return &Error{op, Malformed, Advise(cause, "The error is in the service: report it to its operator. The exporter retries in each run.")}
}

// Error returns a text such as "info.getNodeID: timeout: no answer within 10s".
func (e *Error) Error() string {
	text := e.Op + ": " + string(e.Outcome)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// StatusError is the error of an HTTP status other than 2xx. An Error wraps it.
type StatusError struct {
	Status int
	text   string
}

// Error returns the status, what it means, and the message of the upstream.
func (e *StatusError) Error() string { return e.text }

// RPCError is the error of a JSON-RPC answer. An Error wraps it, whose outcome is that of the table of refusals.
type RPCError struct {
	Code    int    // a node's own services use one code, -32000, for almost every error
	Message string // as the upstream wrote it, shortened to longestText
}

// Error returns the upstream's message.
func (e *RPCError) Error() string {
	if e.Message == "" {
		return "an error without a message"
	}
	return e.Message
}

// OutcomeOf returns the outcome for an error. For nil it is OK. For an Error, wrapped or not, it is the outcome of the Error.
// For other errors it is LocalLimit if this host lacks a resource, Timeout if a context ended, Unreachable if the network
// failed, and otherwise Malformed.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		if e != nil && slices.Contains(Outcomes, e.Outcome) {
			return e.Outcome
		}
		return Malformed
	}
	var opError *net.OpError
	var dnsError *net.DNSError
	switch {
	case isLocalLimit(err):
		return LocalLimit
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case errors.As(err, &opError), errors.As(err, &dnsError), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Unreachable
	}
	return Malformed
}

// localLimits are the errors of a host that lacks a file descriptor, memory or a port for a connection.
var localLimits = []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EADDRNOTAVAIL}

func isLocalLimit(err error) bool {
	lookup, named := errors.AsType[*net.DNSError](err) // a DNSError keeps only the text of its cause
	for _, limit := range localLimits {
		if errors.Is(err, limit) || named && strings.Contains(lookup.Err, limit.Error()) {
			return true
		}
	}
	return false
}
