-- Requests a check of the source. status.lastHandledRefresh has the value when it is done.
local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["catalogd.operatorframework.io/refresh"] = "By Argo CD at: " .. os.date("!%Y-%m-%dT%X")
return obj
