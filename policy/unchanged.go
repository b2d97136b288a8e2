package policy

import (
	"errors"
	"fmt"
)

// ErrChanged says that a call is not the one that was approved any more.
var ErrChanged = errors.New("it is not what was approved")

// Unchanged compares the requests that somebody has approved with those of the
// call that is about to run. Its error wraps [ErrChanged] and says what is
// different: an approval covers exactly what was shown.
func Unchanged(asked, now []Request) error {
	if len(asked) != len(now) {
		return fmt.Errorf("%w: it would touch %d things, not %d", ErrChanged, len(now), len(asked))
	}
	for i := range asked {
		if err := unchanged(asked[i], now[i]); err != nil {
			return err
		}
	}
	return nil
}

func unchanged(asked, now Request) error {
	differ := func(what, was, is string) error {
		return fmt.Errorf("%w: the %s was %q and is %q", ErrChanged, what, was, is)
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
	case asked.Cwd != now.Cwd:
		return differ("folder", asked.Cwd, now.Cwd)
	case asked.Base != now.Base:
		return fmt.Errorf("%w: the content of %s has changed meanwhile", ErrChanged, now.Resource)
	case asked.Confined != now.Confined || asked.Unsandboxed != now.Unsandboxed:
		return fmt.Errorf("%w: it was to run %s and would run %s", ErrChanged, asked.where(), now.where())
	}
	return fmt.Errorf("%w: the input is another", ErrChanged)
}

// where says in words what would hold a request.
func (r Request) where() string {
	switch {
	case r.Unsandboxed:
		return "outside the sandbox"
	case r.Confined:
		return "in the sandbox"
	}
	return "without a sandbox"
}
