package approval

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

// ForRequests returns the approval request for judged requests. The effect of the decision d must
// be ask. ForRequests uses these fields of q: ID, Agent (default: the agent of the decision), Cwd,
// Home, Sandbox (default: "none", or "" for questions and forms), AskedAt, and Expires. It does no
// I/O. The digest covers the complete requests, but the shown text of each request is cut at 64
// KiB.
func (q Request) ForRequests(requests []policy.Request, d policy.Decision) Request {
	q = Request{
		ID: q.ID, Agent: q.Agent, Use: d.Use, Tool: d.Tool,
		Requests: slices.Clone(requests), Digest: digest(requests),
		Reason: d.AskReason, ReasonText: d.Reason, AskedBy: d.By, Rule: d.Rule, Mode: d.Mode,
		Cwd: q.Cwd, Home: q.Home, Sandbox: q.Sandbox, AskedAt: q.AskedAt.UTC().Truncate(time.Millisecond), Expires: q.Expires,
	}
	if q.Reason == "" {
		q.Reason = record.ReasonAsk
	}
	if q.ReasonText == "" {
		q.ReasonText = q.AskedBy + " asks"
	}
	if q.Sandbox == "" && !onlyDialogs(requests) {
		q.Sandbox = "none"
	}
	if q.Agent == "" {
		q.Agent = d.Agent
	}
	if q.Expires != nil {
		at := q.Expires.UTC().Truncate(time.Millisecond)
		q.Expires = &at
	}
	for i := range q.Requests {
		r := &q.Requests[i]
		if q.Session == "" {
			q.Session = r.Session
		}
		if q.Agent == "" {
			q.Agent = r.Agent
		}
		r.Display = capped(r.Display)
	}
	q.Scopes = slices.DeleteFunc(scopes(q, q.Home), func(s Scope) bool {
		if s.Rule == "" {
			return false
		}
		_, err := q.Grant(Answer{Decision: AllowSession, Scope: s.Rule})
		return err != nil
	})
	return q
}

// onlyDialogs reports whether the requests are only questions or forms, which touch nothing.
func onlyDialogs(requests []policy.Request) bool {
	return len(requests) > 0 && !slices.ContainsFunc(requests, func(r policy.Request) bool { return !r.Words() })
}

// maxShown is the maximum size of the shown text of a request, in bytes.
const maxShown = 64 << 10

// capped cuts the shown text and appends a note with the size and digest of the whole text.
func capped(shown string) string {
	if len(shown) <= maxShown {
		return shown
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(shown[n]) {
		n--
	}
	return fmt.Sprintf("%s\n[cut here: %d of %d bytes are shown, sha256 of all %x]", shown[:n], n, len(shown), sha256.Sum256([]byte(shown)))
}
