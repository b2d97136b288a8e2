//go:build holdfast_minimal

package stores

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// openServer rejects stores on servers. Their clients would make up a fifth of the program's size
// and of its start time.
func openServer(_ context.Context, ref Ref, _ bool) (session.Store, error) {
	return nil, outcome.Invalid(ref.Scheme+" stores are not part of this program: it was built with the tag holdfast_minimal",
		"install the usual build, or keep sessions in a file with --store sqlite:PATH")
}
