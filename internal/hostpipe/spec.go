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

// Spec is the task of the process in the container: one turn of one session. The process reads it
// as one JSON object from standard input. It contains no secret.
type Spec struct {
	Version int             `json:"version"`
	Session string          `json:"session"`         // must exist
	Input   json.RawMessage `json:"input,omitempty"` // see [EncodeParts]; without input the agent resumes the session
	Name    string          `json:"name,omitempty"`  // name of the agent, if it is a sub-agent

	// Run describes the run from inside the container: Cwd is a folder in the container, and each
	// entry of Permissions.Settings is a JSON text. The model is called by the host.
	Run         runspec.Spec       `json:"run"`
	Models      []model.Info       `json:"models"`          // the host's models: the primary one, and the fallback
	Interactive bool               `json:"asked"`           // true if the host can ask an approver; otherwise requests are denied
	Settings    *settings.Portable `json:"given,omitempty"` // the settings that the host has read
}

// SpecVersion is the version that this package reads and writes.
const SpecVersion = 3

// maxSpec is the maximum size of a spec in bytes: its input may contain images.
const maxSpec = 256 << 20

// ReadSpec reads a spec. It rejects unknown fields and other versions. Both mean that the host and
// the image have different versions of holdfast.
func ReadSpec(r io.Reader) (*Spec, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSpec+1))
	if err != nil {
		return nil, fmt.Errorf("read the run spec: %w", err)
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, fmt.Errorf("%w: standard input is empty", errSpec)
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
			return nil, versionError(old.Version)
		}
		return nil, fmt.Errorf("%w: %w", errSpec, err)
	}
	switch {
	case d.More():
		return nil, fmt.Errorf("%w: unexpected data after it", errSpec)
	case s.Version != SpecVersion:
		return nil, versionError(s.Version)
	case s.Session == "" || s.Run.Cwd == "" || len(s.Models) == 0:
		return nil, fmt.Errorf("%w: session, run.cwd and models are required", errSpec)
	}
	return &s, nil
}

var errSpec = fmt.Errorf("%w: invalid run spec", errFrame)

func versionError(v int) error {
	return &remoteError{
		text: fmt.Sprintf("the host sent run spec version %d, this program reads version %d", v, SpecVersion),
		hint: "rebuild the workspace's image: holdfast workspace image build", is: errSpec,
	}
}
