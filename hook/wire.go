package hook

import "encoding/json"

// wire is the input as a command in dialect d reads it: one JSON object.
func (in *Input) wire(d Dialect) ([]byte, error) { return json.Marshal(in) }
