-- put_meta: head parent_seq, fields
local was = redis.call('HMGET', SESSION, 'head', 'deleted', 'parent_seq')
if not was[1] then
  return {'missing'}
end
local parent_seq = was[3] or '0'
local last = string.format('%.0f', tonumber(parent_seq) + redis.call('LLEN', RECORDS))
if last ~= ARGV[3] or parent_seq ~= ARGV[4] then
  return {'conflict', last}
end

redis.call('HSET', SESSION, 'head', last)
if not was[2] then
  listing(false)
end
put(5, #ARGV)
if not was[2] then
  listing(true)
end
redis.pcall('PUBLISH', NEWS, '')
return {'ok'}
