// Package sessiontest checks that a [session.Store] keeps its contract. A store
// of your own is held to what every store of this module is held to by one test:
//
//	func TestStore(t *testing.T) {
//		sessiontest.Run(t, func(t testing.TB) session.Store {
//			s, err := mystore.Open(t.TempDir())
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { s.Close() })
//			return s
//		}, sessiontest.Caps{})
//	}
//
// Each subtest is named after one sentence of the contract and opens stores of
// its own, so it can be run alone with -run. The optional interfaces
// [session.Leaser], [session.Deleter], [session.Eraser], [session.Rebuilder] are
// checked when [session.As] finds them. With -short the long logs are shorter; nothing is
// left out.
//
// It does not check what happens when power fails or the process is killed:
// that needs the medium, and the store's own tests.
package sessiontest
