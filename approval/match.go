package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/holdfast-dev/holdfast/policy"
)

// errChanged is returned if a call differs from the approved one.
var errChanged = errors.New("the call differs from the approved one")

// Matches reports whether requests are exactly those of the approval request, by digest.
func (q *Request) Matches(requests []policy.Request) bool { return q.Digest == digest(requests) }

// digest identifies all requests of a call, in order.
func digest(requests []policy.Request) string {
	sum := sha256.New()
	for _, r := range requests {
		_, _ = io.WriteString(sum, r.Digest()+"\n") // it cannot fail
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// CheckUnchanged compares the approved requests with those of the call that is about to run. An
// approval covers exactly what the approver saw, so any difference results in an error that
// describes it.
func (q *Request) CheckUnchanged(now []policy.Request) error {
	asked := q.Requests
	if len(asked) != len(now) {
		return fmt.Errorf("%w: it has %d requests, not %d", errChanged, len(now), len(asked))
	}
	for i := range asked {
		if err := unchanged(asked[i], now[i]); err != nil {
			return err
		}
	}
	return nil
}

func unchanged(asked, now policy.Request) error {
	differ := func(what, was, is string) error {
		return fmt.Errorf("%w: the %s was %q and is %q", errChanged, what, was, is)
	}
	switch {
	case asked.Digest() == now.Digest():
		return nil
	case asked.Tool != now.Tool:
		return differ("tool", asked.Tool, now.Tool)
	case asked.Operation != now.Operation:
		return differ("operation", string(asked.Operation), string(now.Operation))
	case asked.Resource != now.Resource:
		return differ("resource", asked.Resource, now.Resource)
	case asked.Address != now.Address:
		return differ("address", asked.Address, now.Address)
	case asked.Cwd != now.Cwd:
		return differ("folder", asked.Cwd, now.Cwd)
	case asked.Base != now.Base:
		return fmt.Errorf("%w: %s changed after the approval", errChanged, now.Resource)
	case asked.Confined != now.Confined || asked.Unsandboxed != now.Unsandboxed:
		return fmt.Errorf("%w: it was approved to run %s and would run %s", errChanged, where(asked), where(now))
	}
	return fmt.Errorf("%w: the input is different", errChanged)
}

// where describes whether a request runs in the sandbox.
func where(r policy.Request) string {
	switch {
	case r.Unsandboxed:
		return "outside the sandbox"
	case r.Confined:
		return "in the sandbox"
	}
	return "without a sandbox"
}
