package hook

import "encoding/json"

func decode(json.RawMessage, *DecodeOptions) ([]Definition, error) {
	return nil, &Error{What: "not built"}
}

func (d *Definition) seal(string) error { return &Error{What: "not built"} }
