package outputs

import "context"

// Sealer is a store that seals its records, and seals with the key of a session what lies
// beside it in files. name is the file's, to which it is bound.
type Sealer interface {
	Seal(ctx context.Context, id, name string, plain []byte) ([]byte, error)
	// Unseal returns what Seal was given. session.ErrSealed without the key,
	// session.ErrCorrupt when it was changed.
	Unseal(ctx context.Context, id, name string, sealed []byte) ([]byte, error)
}
