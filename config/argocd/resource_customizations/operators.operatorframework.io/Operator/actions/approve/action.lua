-- Approves the version in status.available, and no later one.
if obj.status == nil or obj.status.available == nil or obj.status.available.reason ~= "ApprovalRequired" then
  error("no version waits for approval", 0)
end
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["operators.operatorframework.io/approved-version"] = obj.status.available.version
return obj
