package hostpipe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/runspec"
)

// Spec says what the process inside is to do: one turn of one session. It comes on its
// standard input, as one JSON object, and holds no secret.
type Spec struct {
	Version int             `json:"version"`
	Session string          `json:"session"`         // exists
	Input   json.RawMessage `json:"input,omitempty"` // see [EncodeParts]; without it the agent goes on
	Name    string          `json:"name,omitempty"`  // of a sub-agent

	// Run describes the run as the process inside sees it: Cwd is a folder there, and each of
	// Permissions.Settings is a JSON text. Its model is the host's.
	Run         runspec.Spec       `json:"run"`
	Models      []model.Info       `json:"models"`          // that the host serves: the primary one, and the fallback
	Interactive bool               `json:"asked"`           // somebody at the host is asked; otherwise the answer is no
	Settings    *settings.Portable `json:"given,omitempty"` // settings that the host has read
}

// SpecVersion is that of this package.
const SpecVersion = 3

// maxSpec bounds a spec in bytes: images may be in its input.
const maxSpec = 256 << 20

// ReadSpec reads a spec. A field that is not known here is refused, and so is another
// version: host and image are of different ages then.
func ReadSpec(r io.Reader) (*Spec, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSpec+1))
	if err != nil {
		return nil, fmt.Errorf("read what to do: %w", err)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, fmt.Errorf("%w: nothing came on standard input", errSpec)
	}
	if len(b) > maxSpec {
		return nil, fmt.Errorf("%w: it is longer than %d MiB", errSpec, maxSpec>>20)
	}
	var s Spec
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		var old struct{ Version int }
		if json.Unmarshal(b, &old) == nil && old.Version != SpecVersion {
			return nil, otherVersion(old.Version)
		}
		return nil, fmt.Errorf("%w: %w", errSpec, err)
	}
	switch {
	case d.More():
		return nil, fmt.Errorf("%w: something follows it", errSpec)
	case s.Version != SpecVersion:
		return nil, otherVersion(s.Version)
	case s.Session == "" || s.Run.Cwd == "" || len(s.Models) == 0:
		return nil, fmt.Errorf("%w: session, run.cwd and models are needed", errSpec)
	}
	return &s, nil
}

var errSpec = fmt.Errorf("%w: what to do cannot be read", errFrame)

func otherVersion(v int) error {
	return &remoteError{
		text: fmt.Sprintf("the host speaks version %d of what to do, and this program %d", v, SpecVersion),
		hint: "build the workspace's image anew: holdfast workspace image build", is: errSpec,
	}
}
