package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// messageFields are the required fields of a message of the daemon.
type messageFields struct {
	message  reflect.Type
	required []string
}

var fieldsByType = sync.OnceValue(func() map[string]messageFields {
	all := make(map[string]messageFields, len(messages))
	for _, m := range messages {
		o := messageFields{message: reflect.TypeOf(m).Elem()}
		for _, f := range reflect.VisibleFields(o.message) {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if !f.Anonymous && options != "omitempty" {
				o.required = append(o.required, name)
			}
		}
		all[m.Type()] = o
	}
	return all
})

// parseMessage parses a message of the daemon and returns a pointer to one of this package's
// structs. It ignores unknown fields. Errors are *[Error]: PARSE_ERROR if the frame is not one JSON
// object, VALIDATION_ERROR for a missing field or a wrong type, including a ts without a zone, and
// INVALID_MESSAGE for an unknown type of message or of agent_streaming event, which a newer daemon
// may send and a client skips.
func parseMessage(frame []byte) (Message, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(frame, &fields); err != nil || fields == nil {
		return nil, &Error{Code: CodeParse, Message: "a message of the daemon is one JSON object"}
	}
	var kind string
	if json.Unmarshal(fields["type"], &kind) != nil {
		return nil, &Error{Code: CodeValidation, Message: "a message of the daemon has no type"}
	}
	o, ok := fieldsByType()[kind]
	if !ok {
		return nil, &Error{Code: CodeInvalidMessage, Message: fmt.Sprintf("there is no message of type %.60q", kind)}
	}
	for _, name := range o.required {
		if _, ok := fields[name]; !ok {
			return nil, &Error{Code: CodeValidation, Message: fmt.Sprintf("%s: %s is missing", kind, name)}
		}
	}
	m, _ := reflect.TypeAssert[Message](reflect.New(o.message))
	if err := json.Unmarshal(frame, m); err != nil {
		e := &Error{Code: CodeValidation, Message: kind + ": " + strings.TrimPrefix(err.Error(), "json: ")}
		if _, ok := errors.AsType[*unknownEvent](err); ok {
			e.Code = CodeInvalidMessage
		}
		return nil, e
	}
	if m.Common().TS.IsZero() {
		return nil, &Error{Code: CodeValidation, Message: kind + ": ts is missing"}
	}
	return m, nil
}
