package runspec

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// Parse reads a spec strictly: an unknown field, a duplicate key and anything after the object
// are errors. It does not call [Spec.Check].
func (s *Spec) Parse(b []byte) error {
	*s = Spec{}
	if err := jsontree.Decode(b, s); err != nil {
		if e, ok := errors.AsType[*jsontree.Error](err); ok {
			return &Error{Field: e.Path, Message: e.What}
		}
		return &Error{Message: err.Error()}
	}
	return nil
}
