package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Parse decodes the payload of a policy.changed record. An unknown field is an error that wraps
// [ErrInvalid], because it may be a restriction.
func (c *Change) Parse(payload json.RawMessage) error {
	var read Change
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&read); err != nil {
		return fmt.Errorf("%w: invalid change of policy: %w", ErrInvalid, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("%w: data after a change of policy", ErrInvalid)
	}
	*c = read
	return nil
}

// Replay applies the changes of a log since the start of the run, oldest first, so that grants and
// patches survive a restart. It stops at the first change that cannot be decoded or applied. The
// changes before the failed one are then in effect. The failed change may be a restriction, so the
// caller must not continue the run after an error. Limits are skipped because they end with their
// turn.
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
