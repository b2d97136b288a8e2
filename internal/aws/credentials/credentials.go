// Package credentials finds the keys with which requests to AWS, and to servers with its
// interfaces, are signed, and finds new ones before they expire.
//
//	environment ─► files ─► role of the machine
//	AWS_…, MINIO_…   ~/.aws, ~/.mc   web identity, container, EC2
//
// A source that is not set up is passed over. A source that is set up and gives no keys is
// an error, unless a later one gives some: requests are never sent unsigned because of it.
//
// Source: "Standardized credential providers", AWS SDKs and tools reference guide.
package credentials

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/aws/sigv4"
)

// Chain finds keys in the first source that has some and keeps them until they are about
// to expire. It is safe for concurrent use.
type Chain struct {
	sources []source
	now     func() time.Time

	busy    chan struct{} // held by whoever reads or changes what is below
	known   bool
	keys    sigv4.Keys // empty: there are none
	expires time.Time  // zero: never
	refresh time.Time  // from when on other keys are looked for; zero: never
}

// source is a place where keys may be.
type source struct {
	name string
	find func(context.Context) (found, error)
}

// found is what a source has.
type found struct {
	keys    sigv4.Keys
	expires time.Time // zero: never
}

// errNone says that a source is not set up.
var errNone = errors.New("not set up")

// errGone says that keys expired and their source is not there any more. Requests without a
// signature would be another person's.
var errGone = &Error{
	Source: "where the last ones came from", Err: errors.New("nothing is set up any more"), Remote: true,
	Hint: "see that the environment, the AWS files or the machine's role has keys",
}

// Error says why a source that is set up gave no keys.
type Error struct {
	Source string // "profile work", "EC2 role", …
	Err    error
	Hint   string
	Remote bool // somebody else did not answer, or not in time: it may work later
}

func (e *Error) Error() string { return "no keys from " + e.Source + ": " + e.Err.Error() }

// Unwrap is what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// Static are keys that are known and do not expire.
func Static(k sigv4.Keys) *Chain {
	return newChain(source{"the URL", func(context.Context) (found, error) { return found{keys: k}, nil }})
}

// Profile are the keys of a profile of the AWS files.
func Profile(name string) *Chain {
	return newChain(source{"profile " + name, func(ctx context.Context) (found, error) {
		f, err := awsEndpoints.profile(ctx, name)
		if errors.Is(err, errNone) { // it was asked for
			err = errNoKeys
		}
		return f, err
	}})
}

// Default are the first keys that there are: of the environment, of the AWS and MinIO
// files, of the role of the program or the machine.
func Default() *Chain { return awsEndpoints.chain() }

// chain is the default chain.
func (e endpoints) chain() *Chain {
	return newChain(
		source{"the environment", environment},
		source{"the AWS files", e.files},
		source{"the MinIO client's file", minioFile},
		source{"the role", e.role},
	)
}

func newChain(sources ...source) *Chain {
	return &Chain{sources: sources, now: time.Now, busy: make(chan struct{}, 1)}
}

const (
	// lookTime is the longest that one look for keys takes.
	lookTime = time.Minute
	// lookAgain is when keys are looked for again that there were none of, or that could
	// not be refreshed while the old ones are good.
	lookAgain = time.Minute
)

// Get are the keys to sign a request with; without an ID when no source is set up.
func (c *Chain) Get(ctx context.Context) (sigv4.Keys, error) {
	select {
	case c.busy <- struct{}{}:
		defer func() { <-c.busy }()
	case <-ctx.Done():
		return sigv4.Keys{}, ctx.Err()
	}
	now := c.now()
	if c.known && (c.refresh.IsZero() || now.Before(c.refresh)) {
		return c.keys, nil
	}
	look, stop := context.WithTimeout(ctx, lookTime)
	defer stop()
	f, err := c.find(look)
	if err == nil && f.keys.ID == "" && c.keys.ID != "" {
		err = errGone
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return sigv4.Keys{}, ctx.Err()
	case c.known && c.keys.ID != "" && now.Before(c.expires):
		c.refresh = now.Add(lookAgain)
		return c.keys, nil
	default:
		return sigv4.Keys{}, err
	}
	c.known, c.keys, c.expires, c.refresh = true, f.keys, f.expires, time.Time{}
	switch {
	case f.keys.ID == "":
		c.refresh = now.Add(lookAgain)
	case !f.expires.IsZero():
		left := f.expires.Sub(now)
		c.refresh = now.Add(left - left/5)
	}
	return c.keys, nil
}

// Expired says that a server did not take keys because they have expired: others are
// looked for.
func (c *Chain) Expired(k sigv4.Keys) {
	c.busy <- struct{}{}
	if c.keys == k && !c.expires.IsZero() {
		c.known = false
	}
	<-c.busy
}

// find asks one source after the other.
func (c *Chain) find(ctx context.Context) (found, error) {
	var first error
	for _, s := range c.sources {
		f, err := s.find(ctx)
		switch {
		case errors.Is(err, errNone):
			continue
		case err == nil && (f.keys.ID == "" || f.keys.Secret == ""):
			err = errors.New("the answer has no keys")
		case err == nil:
			return f, nil
		}
		e, ok := errors.AsType[*Error](err)
		if !ok {
			e = &Error{Source: s.name, Err: err}
		}
		if e.Source == "" {
			e.Source = s.name
		}
		if _, half := errors.AsType[halfError](err); half {
			return found{}, e
		}
		if first == nil {
			first = e
		}
		if ctx.Err() != nil {
			break
		}
	}
	return found{}, first
}

// halfError names the variable that is missing beside one that is there.
type halfError struct{ there, missing string }

func (e halfError) Error() string { return fmt.Sprintf("%s is set and %s is not", e.there, e.missing) }
