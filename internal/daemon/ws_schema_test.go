package daemon

import (
	"encoding/json"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

var daemonSchema = sync.OnceValues(func() (*jsonschema.Resolved, error) {
	var whole jsonschema.Schema
	if err := json.Unmarshal(wire.Schema(), &whole); err != nil {
		return nil, err
	}
	return (&jsonschema.Schema{Defs: whole.Defs, Ref: "#/$defs/daemon"}).Resolve(nil)
})

// checkFrame returns what is wrong with a frame of the daemon.
func checkFrame(frame []byte) error {
	schema, err := daemonSchema()
	if err != nil {
		return err
	}
	var message any
	if err := json.Unmarshal(frame, &message); err != nil {
		return err
	}
	return schema.Validate(message)
}
