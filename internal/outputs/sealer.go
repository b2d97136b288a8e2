package outputs

import "context"

// Sealer encrypts files next to an encrypted store with the key of a session. The ciphertext is bound to
// the file's name.
type Sealer interface {
	Seal(ctx context.Context, id, name string, plain []byte) ([]byte, error)
	// Unseal decrypts the result of Seal. It returns session.ErrSealed without the key, and
	// session.ErrCorrupt if the file was changed.
	Unseal(ctx context.Context, id, name string, sealed []byte) ([]byte, error)
}
