-- create: expect epoch parent n, n words of fields, records
local expect, epoch, parent = ARGV[3], ARGV[4], ARGV[5]
local fields = 7 + tonumber(ARGV[6])
local was = redis.call('HMGET', SESSION, 'head', 'deleted', 'parent_seq')
if was[1] then
  if not was[2] and present(was[3] or '0', expect, fields) then
    redis.call('HSET', SESSION, 'head', was[1])
    return {'ok'}
  end
  return {'exists'}
end
local refused = epoch ~= '0' and fenced(epoch)
if refused then
  return refused
end
if parent ~= '' then
  local p = redis.call('HMGET', base .. 'session:' .. parent, 'head', 'deleted')
  if not p[1] or p[2] then
    return {'no parent'}
  elseif tonumber(p[1]) < tonumber(expect) then
    return {'conflict', p[1]}
  end
end
if redis.call('EXISTS', RECORDS) == 1 then
  return {'damaged', expect}
end

push(fields)
put(7, fields - 1)
listing(true)
if parent ~= '' then
  redis.call('ZADD', base .. 'forks:' .. parent, expect, id)
end
redis.pcall('PUBLISH', NEWS, '')
return {'ok'}
