package encrypted

import "context"

// Seal encrypts a file that is stored next to a session, with the session's data key.
func (s *Store) Seal(ctx context.Context, id, name string, plain []byte) ([]byte, error) {
	b, err := s.sealerOf(ctx, id)
	if err != nil {
		return nil, err
	}
	return b.seal([]byte("beside\n"+name), plain), nil
}

// Unseal decrypts the result of Seal.
func (s *Store) Unseal(ctx context.Context, id, name string, sealed []byte) ([]byte, error) {
	b, err := s.sealerOf(ctx, id)
	if err != nil {
		return nil, err
	}
	plain, err := b.open([]byte("beside\n"+name), sealed)
	if err != nil {
		return nil, damaged(id, 0, name+" cannot be decrypted: "+err.Error())
	}
	return plain, nil
}

func (s *Store) sealerOf(ctx context.Context, id string) (*sessionSealer, error) {
	if s.life.Err() != nil {
		return nil, closed("seal", id)
	}
	k, err := s.keyOf(ctx, id)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return nil, damaged(id, 0, "the session has no first record")
	}
	return k.sealer(id)
}
