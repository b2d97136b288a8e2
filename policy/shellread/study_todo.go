package shellread

const (
	fileRows      = ""
	textRows      = ""
	archiveRows   = ""
	netRows       = ""
	gitRows       = ""
	buildRows     = ""
	systemRows    = ""
	containerRows = ""
	codeRows      = `
find,gfind,bfs | =find | -* | --
fd,fdfind | safe =fd | -* | -H -I -a -u -g -F -s -i -L -0 -l -p -q -1 -t/--type: -e/--extension: -d/--max-depth: -E/--exclude: -c/--color: -S/--size: -j/--threads: --min-depth: --changed-within: --changed-before: --hidden --no-ignore --absolute-path --glob --follow --full-path --print0
`
)

func (c *call) programs() {}
