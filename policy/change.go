package policy

import (
	"encoding/json"
	"errors"
	"time"
)

// The contracts of this package's errors.
var (
	ErrStale        = errors.New("the policy has changed meanwhile") // Change.IfVersion
	ErrInvalid      = errors.New("not a valid policy")
	ErrUnknownGrant = errors.New("there is no such grant")
)

// Change is a change of policy while a run goes on, and the payload of a
// policy.changed record. Exactly one of Mode, Patch, Grant, Revoke and Ended is set.
type Change struct {
	Mode   Mode   `json:"mode,omitempty"`
	Patch  *Patch `json:"patch,omitempty"`
	Grant  *Grant `json:"grant,omitempty"`
	Revoke string `json:"revoke,omitempty"` // a grant's id
	// Ended ends the run: its grants and patches are gone. A kill does not end a run.
	Ended bool `json:"ended,omitempty"`

	Version   int    `json:"version,omitempty"`    // of the policy after the change
	IfVersion *int   `json:"if_version,omitempty"` // refuse the change when the version is another (ErrStale)
	By        string `json:"by,omitempty"`
}

// Patch adds path rules to guards (seed 002's update_policy). It never takes one
// away: Allow and Deny are added, Default replaces when it is set.
type Patch struct {
	Tool    string   `json:"tool,omitempty"`  // "": every guard, also those to come
	Mode    string   `json:"mode"`            // "read" or "write"
	Allow   []string `json:"allow,omitempty"` // globs, relative to the session's folder or absolute
	Deny    []string `json:"deny,omitempty"`
	Default Effect   `json:"default,omitempty"` // allow, deny, ask; "": as it was
}

// Grant is a decision that a person made for the rest of the run. It covers
// exactly Resource (and Cwd, of a command), or what Scope says when the person
// chose a wider one.
type Grant struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`   // for people: "session-allow-write-generated---json"; never the key
	Effect    Effect          `json:"effect"` // allow or deny
	Tool      string          `json:"tool"`
	Operation Operation       `json:"operation,omitempty"`
	Resource  string          `json:"resource,omitempty"`
	Cwd       string          `json:"cwd,omitempty"`
	Scope     string          `json:"scope,omitempty"` // a rule: "Bash(npm run test:*)"; then Resource and Cwd are empty
	Question  string          `json:"question,omitempty"`
	By        string          `json:"by,omitempty"`
	At        time.Time       `json:"at"`
	Input     json.RawMessage `json:"-"`
}
