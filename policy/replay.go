package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Parse reads the payload of a policy.changed record. A field that it does not know is an
// error that wraps [ErrInvalid]: it may have forbidden something.
func (c *Change) Parse(payload json.RawMessage) error {
	var read Change
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&read); err != nil {
		return fmt.Errorf("%w: a change of policy: %w", ErrInvalid, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("%w: a change of policy with something behind it", ErrInvalid)
	}
	*c = read
	return nil
}

// Replay applies the changes that a log holds since the run began, oldest first,
// so that grants and patches survive a restart. It stops at the first that cannot
// be read or applied; those before it are in force then, and the one that failed
// may have forbidden something: whoever gets the error must not go on with the run. Limits
// are left out: they are of turns, not of the run.
func (s *Guards) Replay(payloads []json.RawMessage) error {
	for i, p := range payloads {
		var c Change
		err := c.Parse(p)
		if err == nil && c.Limit == nil { // its turn is over
			err = s.Apply(c)
		}
		if err != nil {
			return fmt.Errorf("change %d of %d: %w", i+1, len(payloads), err)
		}
	}
	return nil
}
