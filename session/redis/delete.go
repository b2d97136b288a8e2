package redis

import "context"

// Delete implements [session.Deleter]. The server's append-only file still has what was
// deleted until it is rewritten, which the server does by itself when the file has
// grown; what must go at once is erased first, see [Store.Erase].
func (s *Store) Delete(ctx context.Context, id string) error {
	_, err := s.write(ctx, "delete", id, deleteScript())
	return err
}
